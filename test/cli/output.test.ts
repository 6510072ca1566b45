// The output of commands: results, notes, progress and errors.
import { expect, it } from 'vitest';
import { counted, createOutput, leftText, table, workTimeText } from '../../src/cli/output.ts';
import { agoText, distanceText, durationText, minuteText } from '../../src/diary/number-text.ts';
import { collect } from './kit.ts';

const sink = (isTTY = false) => ({ ...collect(isTTY), columns: 200 });

type Made = Partial<{ tty: boolean; json: boolean; env: Record<string, string> }>;
function output({ tty = false, json = false, env = {} }: Made = {}) {
  const [stdout, stderr] = [sink(tty), sink(tty)];
  return { stdout, stderr, out: createOutput({ stdout, stderr, env, flags: { json, quiet: false } }) };
}

it('a result is text for people and JSON for programs, and ends with one line break', async () => {
  const people = output();
  await people.out.result({ a: 1 }, () => 'one\n');
  expect(people.stdout.text()).toBe('one\n');
  const programs = output({ json: true });
  await programs.out.result({ a: 1 }, () => 'one');
  expect(programs.stdout.text()).toBe('{\n  "a": 1\n}\n');
});

it('notes go to standard error, and progress only to a terminal that has a width, after a moment', async () => {
  const { out, stdout, stderr } = output();
  out.note('by the way');
  out.progress('working').update('still');
  out.endProgress();
  expect([stdout.text(), stderr.text()]).toEqual(['', 'by the way\n']);
  const terminal = output({ tty: true });
  terminal.out.progress('working');
  terminal.out.endProgress();
  const narrow = { ...sink(true), columns: 0 };
  const outOfNarrow = createOutput({ stdout: sink(), stderr: narrow, env: {}, flags: { json: false, quiet: false } });
  outOfNarrow.progress('working');
  await import('ora');
  await new Promise((resolve) => setImmediate(resolve)); // now a spinner would have started
  outOfNarrow.endProgress();
  expect([terminal.stderr.text(), narrow.text(), outOfNarrow.columns]).toEqual(['', '', 80]);
});

it('marks appear on a terminal only, and never with NO_COLOR', () => {
  const marked = (how: Made) => {
    const { out } = output(how);
    return [out.bold('x'), out.dim('x'), out.tint('x', 29)];
  };
  const marks = ['\u001b[1mx\u001b[22m', '\u001b[2mx\u001b[22m', '\u001b[38;5;29mx\u001b[39m'];
  expect(marked({ tty: true })).toEqual(marks);
  expect(marked({ tty: true, env: { NO_COLOR: '' } })).toEqual(marks);
  expect(marked({ tty: true, env: { NO_COLOR: '1' } })).toEqual(['x', 'x', 'x']);
  expect(marked({})).toEqual(['x', 'x', 'x']);
});

it('the number of columns is that of the terminal, at most 100, and 80 without a terminal', () => {
  expect([output({ tty: true }).out.columns, output().out.columns]).toEqual([100, 80]);
});

it('columns of a table are as wide as their widest cell', () => {
  const rows = [
    ['a', '22', 'é😀'],
    ['long', '1', ''],
  ];
  expect(table(rows, [1])).toBe('a     22  é😀\nlong   1');
});

it('texts of phones cannot control a terminal, reorder text or forge a row, and formatting of the program works', async () => {
  const evil = 'x\u001b]0;title\u0007\u202e\u009b2J\rforged';
  const visible = String.raw`x\u001b]0;title\u0007\u202e\u009b2J`;
  expect(table([[`${evil}\nrow`, 'b']])).toBe(`${visible} forged row  b`);
  const people = output({ tty: true });
  await people.out.result({}, `${people.out.bold('a')}\n${evil}`);
  expect(people.stdout.text()).toBe(`\u001b[1ma\u001b[22m\n${visible}\\u000dforged\n`);
  const programs = output({ json: true });
  await programs.out.result({ reason: evil }, '');
  expect(programs.stdout.text()).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  expect(JSON.parse(programs.stdout.text())).toEqual({ reason: evil });
});

it.each<[string, string[], string]>([
  [
    'counts',
    [counted(0, 'trip'), counted(1, 'trip'), counted(1234, 'entry', 'entries')],
    '0 trips 1 trip 1,234 entries',
  ],
  ['distances', [0, 4, 994, 996, 4249, 128_400].map(distanceText), '0 m 0 m 990 m 1.0 km 4.2 km 128 km'],
  ['short times', [0, 59.4, 59.6, 3570, 3600, 3900].map(durationText), '0 s 59 s 1 min 1 h 1 h 1 h 5 min'],
  ['long times', [172_799, 180_000].map(durationText), '2 d 0 h 2 d 2 h'],
  ['seconds of work', [0.004, 1.234, 9.999, 61].map(workTimeText), '0.00 s 1.23 s 10 s 61 s'],
  [
    'minutes',
    [1_710_230_400, 1e300, -1e12].map((ts) => minuteText(ts, 'UTC')),
    '2024-03-12 08:00 1e+300 s -1000000000000 s',
  ],
  ['ages', [agoText(0, 90), agoText(0, 15 * 86_400), agoText(10, 5)], '2 min ago 15 days ago in the future'],
  ['no time that is left', [leftText(30, 0, 60), leftText(30, 60, 60)], ' '],
  ['times that are left', [leftText(30, 30, 60), leftText(60, 15, 60)], ', about 30 s left , about 3 min left'],
  ['days that are left', [leftText(7200, 100, 10_000)], ', about 8 d 6 h left'],
])('%s are in the unit that fits', (_, texts, expected) => {
  expect(texts.join(' ')).toBe(expected);
});
