// The table of converters against the table of keys.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { converterFor, converterTable, platforms } from '../../../src/intake/converters/registry.ts';
import { keyTable } from '../../../src/model/keys.ts';
import { words } from '../../support/words.ts';
import { fixtureName, fixtureNames, readFixture } from './fixtures.ts';

/** Cells that are empty on purpose. */
const empty = ['ios background/activity', 'other background/activity'];

/** Generic converters are shown by the fixtures of the phones; other apps send locations above all. */
const ownFixtures = words(`
  background/battery background/location background/motion_activity statemachine/transition
`);

describe('the table of converters', () => {
  it('has a row for every key that phones push, sorted, and no other rows', () => {
    const pushed = keyTable.filter((row) => row.kind === 'pushed').map((row) => row.key);
    expect(converterTable.map((row) => row.key)).toEqual(pushed.sort());
  });

  const cells = platforms.flatMap((platform) => converterTable.map(({ key }) => ({ platform, key })));
  it.each(cells)('$platform $key has a converter and a fixture', ({ platform, key }) => {
    if (empty.includes(`${platform} ${key}`)) {
      expect(converterFor(platform, key)).toBeNull();
      return;
    }
    expect(converterFor(platform, key)).toBeTypeOf('function');
    if (platform === 'other' && !ownFixtures.includes(key)) return;
    const { metadata } = readFixture(platform, fixtureName(key)).in;
    expect(metadata).toMatchObject({ key, platform });
  });

  it('has a converter for every fixture', () => {
    for (const platform of platforms) {
      const names = cells.filter((cell) => cell.platform === platform).map(({ key }) => fixtureName(key));
      for (const name of fixtureNames(platform)) expect(names).toContain(name);
    }
  });

  it('compares platforms ignoring case, and keys exactly', () => {
    expect(converterFor('iOS', 'background/battery')).toBe(converterFor('ios', 'background/battery'));
    expect(converterFor('ANDROID', 'background/battery')).not.toBeNull();
    const none = words('Background/battery foo/battery battery background/battery/x __proto__ toString');
    for (const key of [...none, '']) expect(converterFor('android', key)).toBeNull();
    for (const platform of ['', 'web', 'generic', 'key', '__proto__'])
      expect(converterFor(platform, 'config/consent')).toBeNull();
  });
});

describe('docs/keys.md', () => {
  it('has every pushed key with the platforms that convert it and what it changes', () => {
    const text = readFileSync(new URL('../../../docs/keys.md', import.meta.url), 'utf8');
    const listed = [...text.matchAll(/^\| `([^`]+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm)].map((row) => row.slice(1));
    const known = keyTable
      .filter(({ kind }) => kind === 'pushed')
      .map(({ key, affects }) => {
        const row = converterTable.find((one) => one.key === key)!;
        return [key, row.generic ? 'all' : platforms.filter((name) => row[name]).join(', '), affects];
      });
    expect(listed).toEqual(known);
  });
});
