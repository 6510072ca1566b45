"""Trips of recorded cases by trackintel and movingpandas, for score.mjs beside this file.

    python tools/compare/others.py CASES OUT

CASES holds <case>.put.json.gz; OUT gets trackintel/<case>.json and movingpandas/<case>.json: start, end (s) and distance (m) of
each trip. Both programs get the same locations: the filtered ones (all, where there are none) with a radius under 200 m. Settings are
those of their documentation, with the five minutes and 100 m that the dwell of the original service has.
"""
import datetime
import glob
import gzip
import json
import os
import sys

import geopandas as gpd
import movingpandas as mpd
import pandas as pd
import trackintel as ti


def locations(path):
    with gzip.open(path) as file:
        entries = json.load(file)["phone_to_server"]
    of = {k: [e["data"] for e in entries if e["metadata"]["key"] == k]
          for k in ("background/filtered_location", "background/location")}
    rows = of["background/filtered_location"] or of["background/location"]
    found = {r["ts"]: r for r in rows if r.get("accuracy", 0) < 200}
    rows = [found[ts] for ts in sorted(found)]
    frame = pd.DataFrame({
        "user_id": 1,
        "tracked_at": pd.to_datetime([r["ts"] for r in rows], unit="s", utc=True),
    })
    points = gpd.points_from_xy([r["longitude"] for r in rows], [r["latitude"] for r in rows])
    return gpd.GeoDataFrame(frame, geometry=points, crs="EPSG:4326")


def metres(frame, start, end):
    inside = frame[(frame.tracked_at >= start) & (frame.tracked_at <= end)].to_crs("EPSG:32610").geometry
    return float(inside.distance(inside.shift()).sum())


def by_trackintel(frame):
    fixes = ti.Positionfixes(frame.copy())
    fixes, stays = fixes.generate_staypoints(
        method="sliding", dist_threshold=100, time_threshold=5, gap_threshold=15, include_last=True)
    if len(stays) == 0:  # trackintel can make no legs then
        return []
    try:
        fixes, legs = fixes.generate_triplegs(stays, method="between_staypoints", gap_threshold=15)
    except IndexError:  # it finds no movement between the stays
        return []
    if len(legs) == 0:
        return []
    stays = stays.create_activity_flag(time_threshold=15)
    _, _, trips = stays.generate_trips(legs, gap_threshold=15)
    return [(trip.started_at, trip.finished_at) for trip in trips.itertuples()]


def by_movingpandas(frame):
    plain = frame.set_index(frame.tracked_at.dt.tz_localize(None))
    whole = mpd.Trajectory(plain, 1)
    parts = mpd.ObservationGapSplitter(whole).split(gap=datetime.timedelta(minutes=15), min_length=100)
    found = []
    for part in parts:
        split = mpd.StopSplitter(part).split(
            max_diameter=100, min_duration=datetime.timedelta(minutes=5), min_length=100)
        found += [(t.get_start_time().replace(tzinfo=datetime.timezone.utc),
                   t.get_end_time().replace(tzinfo=datetime.timezone.utc)) for t in split]
    return found


def main():
    cases, out = sys.argv[1:]
    print("trackintel", ti.__version__, "movingpandas", mpd.__version__)
    for path in sorted(glob.glob(os.path.join(cases, "*.put.json.gz"))):
        name = os.path.basename(path)[: -len(".put.json.gz")]
        frame = locations(path)
        for program, trips_of in (("trackintel", by_trackintel), ("movingpandas", by_movingpandas)):
            os.makedirs(os.path.join(out, program), exist_ok=True)
            trips = trips_of(frame)
            rows = [{"start": s.timestamp(), "end": e.timestamp(), "distance": metres(frame, s, e)} for s, e in trips]
            with open(os.path.join(out, program, name + ".json"), "w") as file:
                json.dump(rows, file)


main()
