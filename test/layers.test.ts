// Who may import whom, read from the import lines of src. A broken rule is answered with the sentence that explains it.
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { words } from './support/words.ts';

const src = fileURLToPath(new URL('../src', import.meta.url));

interface Import {
  /** Importing file, relative to src. */
  from: string;
  /** A file relative to src, or a package. */
  to: string;
  isPackage: boolean;
  typeOnly: boolean;
}

/** Rooms of src, lowest first: a room imports itself and the rooms before it. */
const rooms = words(`
  model util config.ts log store transit analysis intake diary figures pipeline emission
  import export simulate evaluate upkeep web server cli index.ts
`);

/** Further rules: files of `who` import of `room` only what `only` matches, or nothing. */
const doors: readonly { who: RegExp; room: RegExp; only?: RegExp; why: string }[] = [
  {
    who: /^(?!store|upkeep|cli|index|evaluate)/,
    room: /^store\//,
    only: /^store\/(store|paging|empty-figures)\.ts$/,
    why: 'the core knows the contract of the store, not its rules and engines',
  },
  {
    who: /^store\/(sqlite|mongodb)\//,
    room: /^store\/(sqlite|mongodb|rules)\//,
    why: 'an engine knows rows, not rules and not the other engine',
  },
  {
    who: /^(?!log|server|upkeep|cli|index)/,
    room: /^log\//,
    only: /^log\/(log|line-format|messages|text)\.ts$/,
    why: 'the core writes to the interface of a log, not to files',
  },
  {
    who: /^(web|server\/(?!caller-limits|problem\.))/,
    room: /^intake\/put-batch/,
    why: 'routes and pages store entries within the limits of the caller: server/caller-limits.ts',
  },
  { who: /^analysis\//, room: /^(?!analysis|model|transit)/, why: 'the analysis is pure' },
  { who: /^server\//, room: /^pipeline\//, why: 'the pipeline runs separately from the handlers of requests' },
  { who: /^index\.ts$/, room: /^(server|cli)\//, why: 'the public names leave the edges out' },
];

/** Each package has one home, so that it can be replaced in one place. */
const homes: Record<string, RegExp> = {
  '@commander-js/extra-typings': /^cli\//,
  '@hono/node-server': /^server\/listen\.ts$/,
  '@photostructure/sqlite': /^(store\/sqlite\/|log\/file-lock\.ts$)/,
  '@photostructure/tz-lookup': /^model\/geo\//,
  ajv: /^server\/schemas\.ts$/,
  'csv-stringify': /^(cli|export)\//,
  'hyparquet-writer': /^export\//,
  'csv-parse': /^(cli|import)\//,
  dayjs: /^model\/time\.ts$/,
  geojson: /^(diary|export)\//,
  hono: /^server\//,
  'lean-qr': /^web\/pages\/qr\.ts$/,
  'prom-client': /^server\/(call-metrics|worker-metrics|store-figures)\.ts$/,
  mongodb: /^(store\/mongodb|import\/emission)\//,
  ora: /^cli\//,
  sax: /^import\/read\/xml\.ts$/,
  pmtiles: /^web\/pmtiles\.ts$/,
  winston: /^log\/writer\.ts$/,
  'winston-daily-rotate-file': /^log\/writer\.ts$/,
  'modern-tar': /^import\/tar\.ts$/,
  yauzl: /^import\/zip\.ts$/,
};
/** Types cost nothing at run time: the server types its calls by what its adapter hands over. */
const typeHomes: Record<string, RegExp> = { '@hono/node-server': /^server\//, geojson: /./, yauzl: /^import\// };

/** Paths of the sources in a folder, below it. */
const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(?:ts|js|mjs)$/.test(file));

/** Paths of the sources in folders beside src. */
const sourcesBeside = (folders: string): string[] =>
  words(folders).flatMap((folder) => sourcesIn(join(src, '..', folder)).map((file) => join(src, '..', folder, file)));

const files = sourcesIn(src).sort();

/** The text of a file below src. */
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
const exported = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
const exportsOf = (text: string, pattern = exported): string[] => [...text.matchAll(pattern)].map(([, name]) => name!);

function importsOf(file: string): Import[] {
  const pattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;
  return [...texts.get(file)!.matchAll(pattern)].map(([, type, fixed, lazy]) => {
    const target = (fixed ?? lazy)!;
    const isPackage = !target.startsWith('.');
    const to = isPackage ? packageOf(target) : posix.join(dirname(file), target);
    return { from: file, to, isPackage, typeOnly: type !== undefined };
  });
}

const packageOf = (target: string): string => /^(@[^/]*\/)?[^/]*/.exec(target)![0];
const roomOf = (file: string): string => file.split('/')[0]!;
const folderOf = (file: string): string => file.slice(0, file.lastIndexOf('/') + 1);
const all = files.flatMap(importsOf);
const internal = all.filter(({ isPackage }) => !isPackage);
const packages = all.filter(({ isPackage }) => isPackage);
const lineOf = ({ from, to }: Import): string => `${from} imports ${to}`;

it('every file belongs to a room', () => {
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !rooms.includes(roomOf(file)))).toEqual([]);
});

it('rooms import lower rooms only', () => {
  const upwards = internal.filter(({ from, to }) => rooms.indexOf(roomOf(to)) > rooms.indexOf(roomOf(from)));
  expect(upwards.map(lineOf)).toEqual([]);
});

it('rooms are entered through their doors', () => {
  const broken = internal.flatMap((one) =>
    doors
      .filter(({ who, room, only }) => who.test(one.from) && room.test(one.to) && !only?.test(one.to))
      .filter(() => folderOf(one.from) !== folderOf(one.to))
      .map(({ why }) => `${lineOf(one)}: ${why}`),
  );
  expect(broken).toEqual([]);
});

it('each package is imported from its home only, and modules of Node are named with node:', () => {
  const bare = new Set(builtinModules);
  expect(packages.filter(({ to }) => bare.has(to)).map(lineOf)).toEqual([]);
  const broken = packages.flatMap((one) => {
    if (one.to.startsWith('node:')) return [];
    const home = (one.typeOnly ? typeHomes[one.to] : undefined) ?? homes[one.to];
    if (home === undefined) return [`${lineOf(one)}, which has no home: say in this test where it belongs`];
    return home.test(one.from) ? [] : [`${lineOf(one)}: its one home is ${home}`];
  });
  expect(broken).toEqual([]);
});

it('the analysis reads nothing from outside but the models of the package', () => {
  const modules = packages.filter(({ from, to }) => from.startsWith('analysis/') && to.startsWith('node:'));
  const allowed = ({ from, to }: Import): boolean =>
    to === 'node:crypto' || (from === 'analysis/models.ts' && to === 'node:fs'); // the package's own data files
  expect(modules.filter((one) => !allowed(one)).map(lineOf)).toEqual([]);
});

it('no two files import each other, not even through others or for types alone', () => {
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (path.includes(file) || done.has(file)) return;
    for (const { from, to } of internal) if (from === file) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  expect(cycles).toEqual([]);
});

it('no clock and no environment is read below the edges', () => {
  const reads = /\bDate\.now\(|\bnew Date\(\)|\bprocess\.env\b/;
  const edges = /^(cli|server|store|log)\//;
  const readers = files.filter((file) => !edges.test(file) && reads.test(texts.get(file)!));
  expect(readers).toEqual([]);
});

it('no test draws by chance without the seed of test/faults/kit.ts or test/support/seed.ts', () => {
  const draws = /\bMath\.random\(|\brandom(?:Bytes|Int)\(/;
  const tests = join(src, '../test');
  const drawing = sourcesIn(tests).filter((name) => draws.test(readFileSync(join(tests, name), 'utf8')));
  expect(drawing).toEqual(['faults/kit.ts']);
});

it('no file has a default export', () => {
  expect(files.filter((file) => /^export default/m.test(texts.get(file)!))).toEqual([]);
});

it('all names listed in index.ts have a doc comment', () => {
  const lists = exportsOf(texts.get('index.ts')!, /^export (?:type )?\{([^}]*)\}/gm).join();
  const named = new Set(lists.match(/(?!type\b)\w+/g));
  const documented = (text: string, name: string): boolean =>
    new RegExp(`\\*/\\nexport (?:async )?(?:function\\*?|const|class|interface|type) ${name}\\b`).test(text);
  const bare = files.flatMap((file) =>
    exportsOf(texts.get(file)!)
      .filter((name) => named.has(name) && !documented(texts.get(file)!, name))
      .map((name) => `${file}: ${name}`),
  );
  expect(bare).toEqual([]);
});

it('no comment line is longer than 120 columns', () => {
  const formatted = sourcesBeside('bench examples src test tools').filter((path) => !path.endsWith('.mjs'));
  const long = formatted.flatMap((path) => {
    const isLong = (line: string): boolean => line.length > 120 && /^\s*(\/\/|\/?\*)/.test(line);
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.flatMap((line, at) => (isLong(line) ? [`${path}:${at + 1}`] : []));
  });
  expect(long, 'run `npm run format`').toEqual([]);
});

/** The two engines have the same roles under the same names, and so have tables and the rules that work on them. */
const mirrored = /^store\/(sqlite|mongodb|rows|rules)\//;

it('no name is exported by two files, except where the engines mirror each other, and by commands', () => {
  const homesOf = new Map<string, string[]>();
  for (const file of files) {
    for (const name of new Set(exportsOf(texts.get(file)!))) homesOf.set(name, [...(homesOf.get(name) ?? []), file]);
  }
  const twice = [...homesOf].filter(
    ([, own]) => own.length > 1 && !own.every((file) => mirrored.test(file) || file.startsWith('cli/commands/')),
  );
  expect(twice.map(([name, own]) => `${name}: ${own.join(', ')}`)).toEqual([]);
});

it('every exported value is used by another file', () => {
  const code = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const users = sourcesBeside('src test bench tools bin').map((path) => {
    return { path, words: new Set(code(readFileSync(path, 'utf8')).match(/\w+/g)) };
  });
  const idle = files.flatMap((file) => {
    const path = join(src, file);
    return exportsOf(code(texts.get(file)!), /^export (?:async )?(?:function\*?|const|class) (\w+)/gm)
      .filter((name) => !users.some((user) => user.path !== path && user.words.has(name)))
      .map((name) => `${file}: ${name}`);
  });
  expect(idle, 'drop `export`, or the value itself').toEqual([]);
});
