"""Boosted trees for the states of cells (still, walk, cycle, motor), from the cells that cells.mjs wrote.

    python tools/train/train.py CELLS MODEL.json --id states-1 --data TEXT --licence TEXT [--without NAME,NAME] [--augment FOLDER,FOLDER]

--without leaves cases out by name; --augment adds the cells of perturbed copies of the same cases (cells.mjs), each with a
weight of AUGMENTED_WEIGHT: a phone that samples otherwise must not look like another way to move.
The same cells give the same file: one thread, fixed seeds, no clock (the date is given by --date).
"""
import argparse
import hashlib
import json
import os

import lightgbm as lgb
import numpy as np

STATES = ["still", "walk", "cycle", "motor"]
STATE_OF = {
    "WALKING": 1, "BICYCLING": 2, "E_BIKE": 2, "ESCOOTER": 2,
    "CAR": 3, "BUS": 3, "TRAIN": 3, "SUBWAY": 3, "LIGHT_RAIL": 3, "FERRY": 3, "STOPPED": 0,
}
# Hyper-parameters of the design: small trees that cannot learn a route by heart.
PARAMS = dict(
    objective="multiclass", num_class=4, learning_rate=0.2, num_leaves=12, max_depth=5, min_data_in_leaf=60,
    feature_fraction=0.5, bagging_fraction=0.7, bagging_freq=1, lambda_l2=10.0, num_threads=1, seed=7,
    deterministic=True, force_row_wise=True, verbose=-1,
)
ROUNDS = 25
AUGMENTED_WEIGHT = 0.35
FAR = 900.0  # s from a location; of still cells farther away, only every fourth is used


def labels(times, trips):
    found = np.zeros(len(times), dtype=int)
    for trip in trips:
        for section in trip["sections"]:
            inside = (times >= section["start_ts"]) & (times < section["end_ts"])
            found[inside] = STATE_OF[section["mode"]]
    return found


def load(folder, without):
    meta = json.load(open(os.path.join(folder, "cases.json")))
    width = len(meta["features"]) + 1
    parts = []
    for case in meta["cases"]:
        if case["name"] in without:
            continue
        rows = np.fromfile(os.path.join(folder, case["name"] + ".f64")).reshape(-1, width)
        state = labels(rows[:, 0], case["trips"])
        fixes = np.array(case["fixes"])
        at = np.searchsorted(fixes, rows[:, 0])
        before = rows[:, 0] - fixes[np.clip(at - 1, 0, len(fixes) - 1)]
        after = fixes[np.clip(at, 0, len(fixes) - 1)] - rows[:, 0]
        far = np.minimum(np.abs(before), np.abs(after)) > FAR
        order = np.arange(len(rows))
        keep = (order % 2 == 0) & ((state != 0) | ~far | (order % 8 == 0))
        group = np.array([case.get("timeline", "made-up")] * int(keep.sum()))
        parts.append((rows[keep, 1:], state[keep], group))
    x = np.concatenate([p[0] for p in parts])
    y = np.concatenate([p[1] for p in parts])
    groups = np.concatenate([p[2] for p in parts])
    return meta["features"], x, y, groups


def weights(y, groups):
    """Rare states of rare itineraries weigh more: (N / N of itinerary and state) ** .45."""
    result = np.ones(len(y))
    for group in np.unique(groups):
        for state in range(4):
            chosen = (groups == group) & (y == state)
            if chosen.any():
                result[chosen] = (len(y) / chosen.sum()) ** 0.45
    return result / result.mean()


def tree(node):
    """LightGBM's tree as flat lists, parents before children; a child below 0 is leaf -child - 1."""
    f, t, l, r, v = [], [], [], [], []

    def visit(one):
        if "leaf_value" in one:
            v.append(round(one["leaf_value"], 4))
            return -len(v)
        here = len(f)
        f.append(one["split_feature"]), t.append(one["threshold"]), l.append(0), r.append(0)
        l[here] = visit(one["left_child"])
        r[here] = visit(one["right_child"])
        return here

    visit(node)
    return {"f": f, "t": t, "l": l, "r": r, "v": v}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells")
    parser.add_argument("model")
    parser.add_argument("--id", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--licence", required=True)
    parser.add_argument("--date", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--augment", default="")
    args = parser.parse_args()
    without = set(filter(None, args.without.split(",")))
    features, x, y, groups = load(args.cells, without)
    w = weights(y, groups)
    copies = list(filter(None, args.augment.split(",")))
    for folder in copies:
        _, x2, y2, groups2 = load(folder, without)
        x, y = np.concatenate([x, x2]), np.concatenate([y, y2])
        w = np.concatenate([w, AUGMENTED_WEIGHT * weights(y2, groups2)])
    booster = lgb.train(PARAMS, lgb.Dataset(x, y, weight=w, feature_name=features), num_boost_round=ROUNDS)
    trees = [tree(one["tree_structure"]) for one in booster.dump_model()["tree_info"]]
    checksum = hashlib.sha256(json.dumps(trees, separators=(",", ":")).encode()).hexdigest()
    origin = {
        "data": args.data, "licence": args.licence, "date": args.date, "left_out": sorted(without),
        "program": f"tools/train/train.py, LightGBM {lgb.__version__}", "seed": PARAMS["seed"],
        "copies": [os.path.basename(os.path.normpath(one)) for one in copies], "cells": int(len(y)), "sha256_of_trees": checksum,
    }
    model = {"id": args.id, "origin": origin, "features": features, "classes": STATES, "missing": -1, "trees": trees}
    with open(args.model, "w") as file:
        json.dump(model, file, separators=(",", ":"))
        file.write("\n")


main()
