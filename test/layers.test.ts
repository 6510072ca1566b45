// Who may import whom, read from the import lines of src. A broken rule is answered with the sentence that explains it.
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../src', import.meta.url));

interface Import {
  /** Importing file, relative to src. */
  from: string;
  /** A file relative to src, or a package. */
  to: string;
  isPackage: boolean;
}

/** Parts of src, lowest first. A part is named by how the paths of its files begin; the first match counts. */
const parts: readonly { name: string; paths: readonly string[]; mayImport: readonly string[]; rule: string }[] = [
  {
    name: 'model',
    paths: ['model/'],
    mayImport: [],
    rule: 'the model stands on nothing: it says what things are, for everybody',
  },
  { name: 'geo', paths: ['geo/'], mayImport: ['model'], rule: 'geometry imports the model only' },
  {
    name: 'contracts',
    paths: [
      'store/store.ts',
      'store/pages.ts',
      'log/log.ts',
      'log/format.ts',
      'log/messages.ts',
      'log/text.ts',
      'config.ts',
      'make-folders.ts',
      'turns.ts',
      'window-counts.ts',
    ],
    mayImport: ['model'],
    rule: 'contracts, geometry, settings, folders, turns and counts import the model only',
  },
  ...work('converters'),
  ...work('corrections', ['converters', 'analysis']),
  ...work('formats'),
  ...work('intake'),
  ...work('labels', ['converters']),
  ...work('composite', ['diary', 'labels']),
  ...work('diary', ['corrections', 'labels']),
  ...work('metrics', ['labels']),
  ...work('simulate'),
  ...work('stand'),
  {
    name: 'analysis',
    paths: ['analysis/'],
    mayImport: ['model', 'geo'],
    rule: 'the analysis is pure: it imports the model and geometry only',
  },
  ...work('import', ['intake', 'formats']),
  ...work('report', ['diary']),
  ...work('export', ['converters', 'labels', 'diary']),
  ...work('explain', ['analysis', 'converters', 'diary']),
  ...work('pages', ['diary', 'explain', 'labels', 'report']),
  ...work('web', ['corrections', 'diary', 'explain', 'export', 'intake', 'labels', 'pages', 'report', 'stand']),
  ...work('evaluate', ['analysis', 'converters', 'labels']),
  ...work('pipeline', ['analysis', 'converters', 'corrections', 'intake', 'diary']),
  ...work('upkeep', [
    ...['analysis', 'converters', 'intake', 'pipeline'],
    ...['store/open', 'store/sqlite', 'store/shared'], // checks and copies work on rows
  ]),
  {
    name: 'store/open',
    paths: ['store/open.ts'],
    mayImport: ['model', 'geo', 'contracts', 'store/sqlite', 'store/mongodb', 'store/shared'],
    rule: 'store/open chooses the engine and does no more',
  },
  ...work('store/sqlite', ['store/shared']),
  ...work('store/mongodb', ['store/shared']),
  {
    name: 'store/shared',
    paths: ['store/'],
    mayImport: ['model', 'geo', 'contracts', 'corrections'],
    rule: 'what engines share imports model, contracts and corrections only',
  },
  {
    name: 'log/files',
    paths: ['log/'],
    mayImport: ['model', 'geo', 'contracts'],
    rule: 'log files need model and contracts only',
  },
  {
    name: 'server',
    paths: ['server/'],
    mayImport: [
      'model',
      'geo',
      'contracts',
      'converters',
      'formats',
      'intake',
      'labels',
      'composite',
      'corrections',
      'diary',
      'metrics',
      'stand',
      'log/files',
      'pages',
      'web',
    ],
    rule: 'the server translates calls into the core; it meets the pipeline in the store only, and is handed its store',
  },
  {
    name: 'cli',
    paths: ['cli/'],
    mayImport: ['*'],
    rule: 'the command line may import everything below it',
  },
  { name: 'index', paths: ['index.ts'], mayImport: ['*'], rule: 'index.ts exports the core, not its edges' },
];

function work(name: string, others: readonly string[] = []): typeof parts {
  const also = others.length === 0 ? '' : ` and ${others.join(', ')}`;
  const rule = `${name} imports model and contracts${also}, and no other work beside it nor an edge above it`;
  return [{ name, paths: [`${name}/`], mayImport: ['model', 'geo', 'contracts', ...others], rule }];
}

/** Each package has one home, so that it can be replaced in one place. */
const homes: Record<string, RegExp> = {
  '@hono/node-server': /^server\/serve\.ts$/,
  '@photostructure/sqlite': /^(store\/sqlite\/|log\/claim\.ts$)/,
  '@photostructure/tz-lookup': /^geo\//,
  ajv: /^server\/schemas\.ts$/,
  commander: /^cli\//,
  'csv-stringify': /^(cli|export)\//,
  'hyparquet-writer': /^export\//,
  'csv-parse': /^(cli\/|import\/tracks\/csv\.ts$)/,
  dayjs: /^model\/time\.ts$/,
  geojson: /^(diary|export)\//,
  hono: /^server\//,
  'lean-qr': /^pages\/qr\.ts$/,
  'prom-client': /^server\/(metrics|worker-metrics|store-figures)\.ts$/,
  mongodb: /^(store\/mongodb|import\/emission)\//,
  ora: /^cli\//,
  sax: /^import\/read\/xml\.ts$/,
  winston: /^log\/writer\.ts$/,
  'winston-daily-rotate-file': /^log\/writer\.ts$/,
};
/** Types cost nothing at run time: the server types its calls by what its adapter hands over. */
const typeHomes: Record<string, RegExp> = { '@hono/node-server': /^server\//, geojson: /./ };

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.split('\\').join('/'))
  .sort();

interface ImportLine extends Import {
  typeOnly: boolean;
}

function importsOf(file: string): ImportLine[] {
  const text = readFileSync(join(src, file), 'utf8');
  const pattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;
  return [...text.matchAll(pattern)].map(([, type, fixed, lazy]) => {
    const target = (fixed ?? lazy)!;
    const typeOnly = type !== undefined;
    if (!target.startsWith('.')) return { from: file, to: packageOf(target), isPackage: true, typeOnly };
    const to = relative(src, join(src, dirname(file), target))
      .split('\\')
      .join('/');
    return { from: file, to, isPackage: false, typeOnly };
  });
}

const packageOf = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
const partOf = (file: string) => parts.find(({ paths }) => paths.some((path) => file.startsWith(path)));
const all = files.flatMap(importsOf);

it('every file belongs to a part', () => {
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => partOf(file) === undefined)).toEqual([]);
});

it('parts import only from layers below them', () => {
  const broken = all.flatMap(({ from, to, isPackage }) => {
    if (isPackage) return [];
    const [importer, imported] = [partOf(from)!, partOf(to)];
    if (imported === undefined) return [`${from} imports ${to}, which is not in src: sources import sources only`];
    if (importer.name === imported.name || importer.mayImport.includes(imported.name)) return [];
    const above = parts.indexOf(imported) > parts.indexOf(importer);
    if (importer.mayImport.includes('*') && (!above || imported.name === 'cli') && imported.name !== 'index') return [];
    return [`${from} imports ${to}: ${importer.rule}`];
  });
  expect(broken).toEqual([]);
});

it('index.ts leaves the edges out', () => {
  const edges = all.filter(({ from, to }) => from === 'index.ts' && /^(server|cli)\//.test(to));
  expect(edges).toEqual([]);
});

it('each package is imported from its home only', () => {
  const broken = all.flatMap(({ from, to, isPackage, typeOnly }) => {
    if (!isPackage || to.startsWith('node:')) return [];
    const home = (typeOnly ? typeHomes[to] : undefined) ?? homes[to];
    if (home === undefined) return [`${from} imports ${to}, which has no home: say in this test where it belongs`];
    return home.test(from) ? [] : [`${from} imports ${to}: its one home is ${home}`];
  });
  expect(broken).toEqual([]);
});

it('the analysis reads nothing from outside but the models of the package', () => {
  const broken = all.filter(
    ({ from, to }) =>
      from.startsWith('analysis/') &&
      to.startsWith('node:') &&
      to !== 'node:crypto' &&
      !(from === 'analysis/sequence/segment.ts' && to === 'node:fs'), // the package's own data files
  );
  expect(broken.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

it('modules of Node are named with node:', () => {
  const bare = new Set(builtinModules);
  expect(all.filter(({ to, isPackage }) => isPackage && bare.has(to)).map(({ from, to }) => `${from}: ${to}`)).toEqual(
    [],
  );
});

it('no two files import each other, not even through others or for types alone', () => {
  const next = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((one) => !one.isPackage)
        .map((one) => one.to),
    ]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (path.includes(file) || done.has(file)) return;
    for (const to of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  expect(cycles).toEqual([]);
});

it('no clock and no environment is read below the edges', () => {
  const reads = /\bDate\.now\(|\bnew Date\(\)|\bprocess\.env\b/;
  const edges = /^(cli|server|store|log)\//;
  const readers = files.filter((file) => !edges.test(file) && reads.test(readFileSync(join(src, file), 'utf8')));
  expect(readers).toEqual([]);
});

it('no test draws by chance without the seed of test/faults/kit.ts or test/support/seed.ts', () => {
  const tests = fileURLToPath(new URL('.', import.meta.url));
  const names = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:ts|js)$/.test(name));
  const draws = /\bMath\.random\(|\brandom(?:Bytes|Int)\(/;
  expect(names.filter((name) => draws.test(readFileSync(join(tests, name), 'utf8')))).toEqual(['faults/kit.ts']);
});

it('every file says in its first line what it contains, and has no default export', () => {
  const texts = files.map((file) => ({ file, text: readFileSync(join(src, file), 'utf8') }));
  expect(texts.filter(({ text }) => !/^\/\/ \S/.test(text)).map(({ file }) => file)).toEqual([]);
  expect(texts.filter(({ text }) => /^export default/m.test(text)).map(({ file }) => file)).toEqual([]);
});

it('every exported name has a doc comment', () => {
  const bare = files.flatMap((file) => {
    const lines = readFileSync(join(src, file), 'utf8').split('\n');
    return lines.flatMap((line, at) => {
      const name = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/.exec(line)?.[1];
      return name === undefined || lines[at - 1]?.trimEnd().endsWith('*/') ? [] : [`${file}: ${name}`];
    });
  });
  expect(bare).toEqual([]);
});

it('no comment line is longer than 120 columns', () => {
  const long = files.flatMap((file) => {
    const lines = readFileSync(join(src, file), 'utf8').split('\n');
    return lines.flatMap((line, at) =>
      line.length > 120 && /^\s*(\/\/|\/?\*)/.test(line) ? [`${file}:${at + 1}`] : [],
    );
  });
  expect(long, 'run `npm run format`').toEqual([]);
});

/** The two engines have the same roles under the same names, and so have tables and the rules that work on them. */
const mirrored = /^store\/(sqlite|mongodb|rows|rules)\//;

it('no name is exported by two files, except where the engines mirror each other', () => {
  const homesOf = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(join(src, file), 'utf8');
    const names = [...text.matchAll(/^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm)];
    for (const name of new Set(names.map(([, one]) => one!))) homesOf.set(name, [...(homesOf.get(name) ?? []), file]);
  }
  const twice = [...homesOf].filter(([, own]) => own.length > 1 && !own.every((file) => mirrored.test(file)));
  expect(twice.map(([name, own]) => `${name}: ${own.join(', ')}`)).toEqual([]);
});

it('every exported value is used by another file', () => {
  const code = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const users = ['src', 'test', 'bench', 'tools', 'bin'].flatMap((folder) => {
    const root = fileURLToPath(new URL(`../${folder}`, import.meta.url));
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:ts|js|mjs)$/.test(file))
      .map((file) => ({
        path: join(root, file),
        words: new Set(code(readFileSync(join(root, file), 'utf8')).match(/\w+/g)),
      }));
  });
  const idle = files.flatMap((file) => {
    const path = join(src, file);
    const text = code(readFileSync(path, 'utf8'));
    return [...text.matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm)]
      .filter(([, name]) => !users.some((user) => user.path !== path && user.words.has(name!)))
      .map(([, name]) => `${file}: ${name}`);
  });
  expect(idle, 'drop `export`, or the value itself').toEqual([]);
});
