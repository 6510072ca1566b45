// The output of commands: results, notes, progress and errors.
import { expect, it } from 'vitest';
import { counted, createOutput, leftText, OutputClosed, type Sink, table } from '../../src/cli/output.ts';

function sink(isTTY = false, failing?: string): Sink & { text: string } {
  const one = {
    text: '',
    isTTY,
    columns: 200,
    write(piece: string, done?: (error?: Error | null) => void) {
      if (failing !== undefined) done?.(Object.assign(new Error(failing), { code: failing }));
      else {
        one.text += piece;
        done?.();
      }
      return true;
    },
  };
  return one;
}

function output({
  tty = false,
  json = false,
  env = {},
  failing,
}: {
  tty?: boolean;
  json?: boolean;
  env?: Record<string, string>;
  failing?: string;
} = {}) {
  const [stdout, stderr] = [sink(tty, failing), sink(tty)];
  return { stdout, stderr, out: createOutput({ stdout, stderr, env, flags: { json, quiet: false } }) };
}

it('a result is text for people and JSON for programs, and ends with one line break', async () => {
  const people = output();
  await people.out.result({ a: 1 }, () => 'one\n');
  expect(people.stdout.text).toBe('one\n');
  const programs = output({ json: true });
  await programs.out.result({ a: 1 }, () => 'one');
  expect(programs.stdout.text).toBe('{\n  "a": 1\n}\n');
});

it('estimates the time left in the unit that fits, once a part is done', () => {
  expect([leftText(30, 0, 60), leftText(30, 60, 60)]).toEqual(['', '']);
  expect([leftText(30, 30, 60), leftText(60, 15, 60)]).toEqual([', about 30 s left', ', about 3 min left']);
  expect(leftText(7200, 100, 10_000)).toBe(', about 8 d 6 h left');
});

it('notes go to standard error', () => {
  const { out, stdout, stderr } = output();
  out.note('by the way');
  expect([stdout.text, stderr.text]).toEqual(['', 'by the way\n']);
});

it('progress is shown on a terminal only', () => {
  const { out, stderr } = output();
  const progress = out.progress('working');
  progress.update('still');
  out.endProgress();
  expect(stderr.text).toBe('');
});

it('a very short progress shows no spinner on a terminal', async () => {
  const { out, stderr } = output({ tty: true });
  out.progress('working');
  out.endProgress();
  await import('ora');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(stderr.text).toBe('');
});

it('a terminal without a width gets no spinner', async () => {
  const stderr = { ...sink(true), columns: 0 };
  const out = createOutput({ stdout: sink(), stderr, env: {}, flags: { json: false, quiet: false } });
  out.progress('working');
  await import('ora');
  await new Promise((resolve) => setTimeout(resolve, 20));
  out.endProgress();
  expect([stderr.text, out.columns]).toEqual(['', 80]);
});

it('marks appear on a terminal only, and never with NO_COLOR', () => {
  expect(output({ tty: true }).out.bold('x')).toBe('\u001b[1mx\u001b[22m');
  expect(output({ tty: true, env: { NO_COLOR: '1' } }).out.bold('x')).toBe('x');
  expect(output({ tty: true, env: { NO_COLOR: '' } }).out.dim('x')).toBe('\u001b[2mx\u001b[22m');
  expect(output().out.bold('x')).toBe('x');
  expect(output({ tty: true }).out.tint('x', 29)).toBe('\u001b[38;5;29mx\u001b[39m');
  expect(output({ tty: true, env: { NO_COLOR: '1' } }).out.tint('x', 29)).toBe('x');
  expect(output().out.tint('x', 29)).toBe('x');
});

it('the number of columns is that of the terminal, at most 100, and 80 without a terminal', () => {
  expect([output({ tty: true }).out.columns, output().out.columns]).toEqual([100, 80]);
});

it('a closed pipe is OutputClosed, another failure is MOBILITY_OUTPUT with its reason', async () => {
  await expect(output({ failing: 'EPIPE' }).out.line('x')).rejects.toThrow(OutputClosed);
  await expect(output({ failing: 'ENOSPC' }).out.line('x')).rejects.toMatchObject({
    code: 'MOBILITY_OUTPUT',
    message: 'cannot write to standard output: ENOSPC',
  });
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
  expect(people.stdout.text).toBe(`\u001b[1ma\u001b[22m\n${visible}\\u000dforged\n`);
  const programs = output({ json: true });
  await programs.out.result({ reason: evil }, '');
  expect(programs.stdout.text).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  expect(JSON.parse(programs.stdout.text)).toEqual({ reason: evil });
});

it('counts have the right plural', () => {
  expect([counted(0, 'trip'), counted(1, 'trip'), counted(1234, 'entry', 'entries')]).toEqual([
    '0 trips',
    '1 trip',
    '1,234 entries',
  ]);
});
