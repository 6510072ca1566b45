# %% [markdown]
# # A map of ways and places, with geopandas and trackintel
#
# Reads two exports, one under the names of trackintel:
# `mobility export --all --format parquet --out study` and
# `mobility export --all --format csv --names trackintel --out study-trackintel`, and draws one person's ways and the
# places where they stay most: `python map.py study study-trackintel map.svg`. No base map, so no network.

# %%
import sys
from pathlib import Path

import geopandas as gpd
import matplotlib.pyplot as plt
import trackintel as ti

study, tables = Path(sys.argv[1]), Path(sys.argv[2])
picture = sys.argv[3]

# %% GeoParquet has its coordinate system with it.
sections = gpd.read_parquet(study / 'sections.parquet')
person = sections.groupby('user_id').distance_m.sum().idxmax()
ways = sections[sections.user_id == person]
metres = ways.estimate_utm_crs()

# %% trackintel puts stays within 100 m together as one location.
staypoints = ti.read_staypoints_csv(tables / 'staypoints.csv', sep=',', index_col='id', crs='EPSG:4326')
stays, locations = staypoints[staypoints.user_id == person].generate_locations(epsilon=100, num_samples=1)
stays['hours'] = (stays.finished_at - stays.started_at).dt.total_seconds() / 3600
locations['hours'] = stays.groupby('location_id').hours.sum()
print(f'{len(ways)} sections, {len(stays)} stays at {len(locations)} locations')
print(locations.hours.sort_values(ascending=False).head(5).round(1).to_string())

# %%
figure, axes = plt.subplots(figsize=(7, 7))
lines = {'walking': ':', 'bicycling': '--', 'car': '-', 'bus': '-.', 'train': (0, (6, 2))}
colours = {'walking': '#009e73', 'bicycling': '#0072b2', 'car': '#d55e00', 'bus': '#cc79a7', 'train': '#56b4e9'}
for mode, of_mode in ways.to_crs(metres).groupby('mode'):
    of_mode.plot(ax=axes, label=mode, color=colours.get(mode, '#666666'), linestyle=lines.get(mode, '-'), linewidth=2)
places = locations.set_geometry('center').to_crs(metres)
places.plot(ax=axes, markersize=20 + 10 * locations.hours.fillna(0), facecolor='none', edgecolor='black', zorder=3)
axes.set_aspect('equal')
axes.set_axis_off()
axes.legend(frameon=False)
axes.set_title(f'{len(ways)} sections; circles grow with the hours stayed')
plt.savefig(picture, bbox_inches='tight')
