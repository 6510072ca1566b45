# %% [markdown]
# # A week, hour by hour, with DuckDB
#
# Asks an export (`mobility export --all --format parquet --out study`) by SQL when people are on the way, and draws a
# week: `python week.py study week.svg`. DuckDB reads the files where they are, of one study or of a hundred.

# %%
import sys
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt

study = Path(sys.argv[1])
picture = sys.argv[2]

# %% `started_local` is the clock on the wall; `started_at` is the same moment in UTC.
base = duckdb.connect()
hours = base.execute(
    """
    select isodow(started_local::timestamp) as weekday, hour(started_local::timestamp) as hour,
           count(*) as trips, count(distinct user_id) as people, sum(distance_m) / 1000 as km
    from read_parquet(?) group by all order by all
    """,
    [str(study / 'trips.parquet')],
).fetchall()
print('weekday hour trips people km')
for weekday, hour, trips, people, km in hours:
    print(f'{weekday:7} {hour:4} {trips:5} {people:6} {km:.1f}')

# %%
days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
begun = [[0] * 24 for _ in days]
for weekday, hour, trips, *_ in hours:
    begun[weekday - 1][hour] = trips
figure, axes = plt.subplots(figsize=(9, 3))
image = axes.imshow(begun, aspect='auto', cmap='cividis')  # a scale that colour-blind people read like others
axes.set_yticks(range(7), days)
axes.set_xticks(range(0, 24, 3))
axes.set_xlabel('hour of departure, local time')
figure.colorbar(image, label='trips')
figure.savefig(picture, bbox_inches='tight')
