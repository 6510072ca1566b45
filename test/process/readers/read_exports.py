# Opens a folder of exports with programs that nobody here wrote, and prints what each of them saw as JSON:
# `python read_exports.py FOLDER`. The folder holds csv, parquet, geojson, gpx, jsonl, trackintel and scikit-mobility.
import json
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

folder = Path(sys.argv[1])
seen = {}
warnings.simplefilter('error', FutureWarning)  # what breaks with the next version of a library should be known now


def reader(function):
    """Runs a reader; what it saw, and what went wrong, stands under its name."""
    begun = time.monotonic()
    try:
        seen[function.__name__] = function()
    except Exception as error:  # the tests tell of it beside the others
        seen[function.__name__] = {'error': f'{type(error).__name__}: {error}'}
    seen[function.__name__]['seconds'] = round(time.monotonic() - begun, 2)
    return function


@reader
def pandas():
    import pandas

    trips = pandas.read_csv(folder / 'csv/trips.csv', parse_dates=['started_at', 'finished_at', 'started_local'])
    points = pandas.read_parquet(folder / 'parquet/points.parquet')
    days = pandas.read_json(folder / 'jsonl/days.jsonl', lines=True)
    sections = pandas.read_csv(folder / 'csv/sections.csv')
    joined = sections.merge(trips, on='trip_id', validate='many_to_one', suffixes=('', '_of_trip'))
    return {
        'trips': len(trips),
        'points': len(points),
        'sections_with_trip': len(joined),
        'metres': float(trips.distance_m.sum()),
        'metres_of_days': float(days.distance_m.sum()),
        'types': {name: str(trips[name].dtype) for name in ['started_at', 'started_local', 'duration_s', 'sections']},
        'tracked_at': str(points.tracked_at.dtype),
        'first': trips.started_at.min().isoformat(),
        'modes': {mode: float(metres) for mode, metres in sections.groupby('mode').distance_m.sum().items()},
        'confirmed': sorted(trips.mode_confirmed.dropna()),
    }


@reader
def geopandas():
    import geopandas
    import pandas
    import pyarrow.parquet

    parquet = geopandas.read_parquet(folder / 'parquet/sections.parquet')
    files = {kind: geopandas.read_file(folder / f'geojson/{kind}.geojson') for kind in ['trips', 'sections', 'stops', 'places', 'points']}
    lines = {kind: geopandas.read_file(f'GeoJSONSeq:{folder}/jsonl/{kind}.jsonl') for kind in files}
    frame = pandas.read_csv(folder / 'csv/sections.csv')
    csv = geopandas.GeoDataFrame(frame, geometry=geopandas.GeoSeries.from_wkt(frame.geometry), crs='OGC:CRS84')
    return {
        'crs': str(parquet.crs),
        'rows': {kind: len(table) for kind, table in files.items()},
        'shapes': {kind: sorted(set(table.geom_type)) for kind, table in files.items()},
        'bounds': {
            'parquet': [float(x) for x in parquet.total_bounds],
            'geojson': [float(x) for x in files['sections'].total_bounds],
            'csv': [float(x) for x in csv.total_bounds],
        },
        'same_lines': bool((parquet.geometry.geom_equals_exact(csv.geometry, 1e-9)).all()),
        'started_at': str(files['trips'].started_at.dtype),
        'lines': {kind: len(lines[kind]) for kind in files},
        'geo': json.loads(pyarrow.parquet.read_schema(folder / 'parquet/sections.parquet').metadata[b'geo'])['columns']['geometry'],
    }


@reader
def sums():
    """The sum of each numeric column, by table and column, of each program in each format that it reads."""
    import duckdb
    import geopandas
    import pandas

    def features(table):
        return json.loads((folder / f'geojson/{table}.geojson').read_text())['features']

    def lines(table):
        frame = pandas.read_json(folder / f'jsonl/{table}.jsonl', lines=True)
        return pandas.json_normalize(list(frame.properties)) if 'geometry' in frame else frame

    def query(table, format, names):
        file = f"'{folder}/{format}/{table}.{format}'"
        base = duckdb.connect()
        columns = [name for name, *_ in base.execute(f'describe select * from {file}').fetchall()]
        place = 'properties.' if 'properties' in columns else ''
        return base.execute(f"select {', '.join(f'sum({place}{name})' for name in names)} from {file}").fetchone()

    frames = {
        'pandas csv': lambda table: pandas.read_csv(folder / f'csv/{table}.csv'),
        'pandas parquet': lambda table: pandas.read_parquet(folder / f'parquet/{table}.parquet'),
        'pandas jsonl': lambda table: lines(table),
        'pandas geojson': lambda table: pandas.json_normalize([one['properties'] for one in features(table)]),
        'geopandas csv': lambda table: geopandas.read_file(folder / f'csv/{table}.csv', AUTODETECT_TYPE='YES'),
        'geopandas parquet': lambda table: geopandas.read_parquet(folder / f'parquet/{table}.parquet'),
        'geopandas jsonl': lambda table: geopandas.read_file(f'GeoJSONSeq:{folder}/jsonl/{table}.jsonl'),
        'geopandas geojson': lambda table: geopandas.read_file(folder / f'geojson/{table}.geojson'),
    }
    def gdal(table, format, names):
        options = ['-oo', 'AUTODETECT_TYPE=YES'] if format == 'csv' else []
        sums = ', '.join(f'sum({name}) as {name}' for name in names)
        file = folder / format / f'{table}.{format}'
        return run('ogr2ogr', '-f', 'GeoJSON', '/vsistdout/', file, *options, '-sql', f'select {sums} from {table}')

    def run(*words):
        return subprocess.run([str(word) for word in words], capture_output=True, check=True, text=True).stdout

    found = {}
    for resource in json.loads((folder / 'csv/datapackage.json').read_text())['resources']:
        table, fields = resource['name'], resource['schema']['fields']
        if not resource['rows']:
            continue
        filled = pandas.read_csv(folder / f'csv/{table}.csv', low_memory=False).dropna(axis=1, how='all').columns
        names = [one['name'] for one in fields if one['type'] in ['number', 'integer'] and one['name'] in filled]
        if not names:
            continue
        has_geometry = (folder / f'geojson/{table}.geojson').exists()

        def keep(way, sums):
            found.setdefault(way, {})[table] = dict(zip(names, map(float, sums)))

        for way, read in frames.items():
            # Without a geometry there is no GeoJSON, and of the other formats geopandas and GDAL read CSV.
            if has_geometry or way == 'geopandas csv' or way in ['pandas csv', 'pandas parquet', 'pandas jsonl']:
                frame = read(table)
                keep(way, [frame[name].sum() for name in names])
        for format in ['csv', 'parquet', 'jsonl', 'geojson'] if has_geometry else ['csv', 'parquet', 'jsonl']:
            keep(f'duckdb {format}', query(table, format, names))
        if shutil.which('ogr2ogr'):
            for format in ['csv', 'jsonl', 'geojson'] if has_geometry else ['csv']:
                [feature] = json.loads(gdal(table, format, names))['features']
                keep(f'gdal {format}', [feature['properties'][name] for name in names])
        if shutil.which('Rscript'):
            for line in run('Rscript', Path(__file__).with_name('read_exports.R'), folder, table, *names).splitlines():
                format, *sums = line.split()
                keep(f'sf {format}', sums)
    return found


@reader
def trackintel():
    import trackintel

    here = folder / 'trackintel'
    positionfixes = trackintel.read_positionfixes_csv(here / 'positionfixes.csv', sep=',', index_col='id', crs='EPSG:4326')
    staypoints = trackintel.read_staypoints_csv(here / 'staypoints.csv', sep=',', index_col='id', crs='EPSG:4326')
    triplegs = trackintel.read_triplegs_csv(here / 'triplegs.csv', sep=',', index_col='id', crs='EPSG:4326')
    trips = trackintel.read_trips_csv(here / 'trips.csv', sep=',', index_col='id', geom_col='geom', crs='EPSG:4326')
    # A phone at rest sends nothing for hours: the default of 15 minutes between two positions would end every stay.
    _, found = positionfixes.generate_staypoints(method='sliding', gap_threshold=1440, include_last=True)
    activities = int(staypoints.is_activity.sum())
    staypoints, locations = staypoints.generate_locations(epsilon=100, num_samples=1)
    _, tours = trips.generate_tours(max_dist=500)
    _, tours_of_locations = trips.generate_tours(staypoints=staypoints)
    _, _, generated = trackintel.preprocessing.generate_trips(staypoints, triplegs.drop(columns='trip_id'), gap_threshold=15)
    split = trackintel.analysis.calculate_modal_split(triplegs, metric='distance', per_user=False)
    return {
        'generated': [len(locations), len(tours), len(tours_of_locations), len(generated)],
        'classes': [type(table).__name__ for table in [positionfixes, staypoints, triplegs, trips]],
        'rows': [len(positionfixes), len(staypoints), len(triplegs), len(trips)],
        'legs_without_trip': int((~triplegs.trip_id.isin(trips.index)).sum()),
        'trips_without_stays': int((~trips.origin_staypoint_id.isin(staypoints.index)).sum())
        + int((~trips.destination_staypoint_id.isin(staypoints.index)).sum()),
        'activities': activities,
        'found': len(found),
        'split': {mode: float(split[mode].iloc[0]) for mode in split},
    }


@reader
def movingpandas():
    warnings.simplefilter('ignore', UserWarning)  # it tells for each way that it drops the name of UTC
    import geopandas
    import movingpandas

    points = geopandas.read_parquet(folder / 'parquet/points.parquet')
    ways = movingpandas.TrajectoryCollection(points, traj_id_col='section_id', t='tracked_at')
    return {
        'trajectories': len(ways.trajectories),
        'points': int(sum(len(way.df) for way in ways.trajectories)),
        'metres': float(sum(way.get_length() for way in ways.trajectories)),
    }


@reader
def scikit_mobility():
    import pandas

    # scikit-mobility 1.3.1 does not install beside pandas 3: what its TrajDataFrame asks for is looked at here.
    table = pandas.read_csv(folder / 'scikit-mobility/trajectories.csv', parse_dates=['datetime'])
    return {'columns': list(table.columns), 'rows': len(table), 'datetime': str(table.datetime.dtype)}


@reader
def duckdb():
    import duckdb

    base = duckdb.connect()
    base.execute("set TimeZone = 'UTC'")

    def rows(table):
        return base.execute(f"select count(*) from '{folder}/{table}'").fetchone()[0]

    def described(table):
        return {name: kind for name, kind, *_ in base.execute(f"describe select * from '{folder}/{table}'").fetchall()}

    names = ['started_at', 'started_local', 'day', 'duration_s', 'sections']
    by_mode = base.execute(
        f"select mode, sum(distance_m) from '{folder}/parquet/sections.parquet' group by mode order by mode"
    ).fetchall()
    return {
        'rows': {
            'csv': rows('csv/points.csv'),
            'parquet': rows('parquet/points.parquet'),
            'jsonl': rows('jsonl/points.jsonl'),
            'entries': rows('parquet/entries.parquet'),
        },
        'types': [{name: described(table)[name] for name in names} for table in ['csv/trips.csv', 'parquet/trips.parquet']],
        'modes': {mode: float(metres) for mode, metres in by_mode},
        'keys': base.execute(f"select count(distinct key) from '{folder}/jsonl/entries.jsonl'").fetchone()[0],
    }


@reader
def gpx():
    import importlib.util

    import gpxpy
    from lxml import etree

    text = (folder / 'gpx/points.gpx').read_bytes()
    read = gpxpy.parse(text)
    # The schema of GPX 1.1 as topografix.com gives it out: the package `gpx` carries it.
    schema = etree.XMLSchema(etree.parse(Path(importlib.util.find_spec('gpx').origin).parent / 'gpx.xsd'))
    document = etree.fromstring(text)
    valid = schema.validate(document)
    return {
        'tracks': len(read.tracks),
        'points': read.get_points_no(),
        'without_time': sum(point.time is None for point, *_ in read.walk()),
        'types': sorted({track.type for track in read.tracks}),
        'metres': read.length_2d(),
        'valid': valid,
        'faults': [str(fault) for fault in schema.error_log],
        'refuses': not schema.validate(etree.fromstring(text.replace(b' lat=', b' latitude='))),
    }


@reader
def frictionless():
    import frictionless

    reports = {}
    for name in ['csv', 'trackintel', 'scikit-mobility', 'parquet', 'geojson', 'gpx', 'jsonl', 'unlabelled']:
        report = frictionless.Package(str(folder / name / 'datapackage.json')).validate()
        faults = report.flatten(['fieldName', 'rowNumber', 'type', 'note'])[:5]
        reports[name] = {'valid': report.valid, 'tables': len(report.tasks), 'faults': [str(one) for one in faults]}
    days = folder / 'csv/days.csv'
    days.write_text(days.read_text().replace('2024', '2025', 1))  # last of all: nobody reads it after this
    report = frictionless.Package(str(folder / 'csv/datapackage.json')).validate()
    return {'reports': reports, 'finds_a_change': not report.valid}


print(json.dumps(seen))
