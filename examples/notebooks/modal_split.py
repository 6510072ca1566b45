# %% [markdown]
# # The modal split, with pandas
#
# Reads an export (`mobility export --all --format parquet --out study`) and draws the share of each mode in trips, in
# kilometres and in time: `python modal_split.py study modal-split.svg`. As a notebook: open this file in Jupyter (with
# jupytext) or in an editor that knows cells.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

study = Path(sys.argv[1])
picture = sys.argv[2]

# %% One row a section: a trip by bus is two walks and a ride.
sections = pd.read_parquet(study / 'sections.parquet')
trips = pd.read_parquet(study / 'trips.parquet')

# %% `mode` of a trip is that of its longest part. A label of the participant replaces the mode that was sensed.
split = pd.DataFrame(
    {
        'trips': trips['mode'].value_counts(),
        'km': sections.groupby('mode').distance_m.sum() / 1000,
        'hours': sections.groupby('mode').duration_s.sum() / 3600,
    }
).fillna(0)
split = split.sort_values('km', ascending=False)
print(split.round(1).to_string())

# %% 95 % intervals of the shares in kilometres, by resampling people: the days of one person resemble each other.
by_person = sections.pivot_table(index='user_id', columns='mode', values='distance_m', aggfunc='sum').fillna(0)
draws = [by_person.sample(frac=1, replace=True, random_state=seed).sum() for seed in range(1000)]
drawn = pd.DataFrame([draw / draw.sum() for draw in draws])
print(drawn.quantile([0.025, 0.975]).T.round(3).set_axis(['low', 'high'], axis=1).to_string())

# %% Colours that colour-blind people tell apart (Okabe and Ito 2008), and a hatch each, so that print in grey works too.
colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#999999']
hatches = ['', '//', '..', 'xx', '\\\\', '++', 'oo', '--']
shares = split / split.sum()
axes = shares.T[::-1].plot.barh(stacked=True, color=colours, edgecolor='white', figsize=(8, 2.6))
for bars, hatch in zip(axes.containers, hatches):
    for bar in bars:
        bar.set_hatch(hatch)
axes.set_xlim(0, 1)
axes.xaxis.set_major_formatter(lambda share, _: f'{share:.0%}')
axes.legend(ncol=4, loc='upper center', bbox_to_anchor=(0.5, -0.15), frameon=False)
axes.set_title(f'{trips.user_id.nunique()} people, {len(trips)} trips')
plt.savefig(picture, bbox_inches='tight')
