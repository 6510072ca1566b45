// Calls and lines of the logs on a terminal: the day once above its times, nothing wider than the screen.
import { callTime } from '../log/calls.ts';
import { createStamp } from '../log/format.ts';
import { type LogText, putText, resultText } from './log-text.ts';
import { type Output, textWidth } from './output.ts';

const timeWidth = 12; // 09:31:02.120
const callWidth = 20; // POST /usercache/put
const leastColumns = 72;
const indent = ' '.repeat(timeWidth + 2);
const stepIndent = ' '.repeat(11); // `  MISSING  `

/**
 * Makes texts with times of a zone for a terminal. The day stands above its first line. A result or a message that does
 * not fit beside the rest goes on below; a path or a name that does not fit in its column is cut.
 */
export function createLogScreen(zone: string, output: Pick<Output, 'columns' | 'bold'>): LogText {
  const columns = Math.max(output.columns, leastColumns);
  const userWidth = columns < 80 ? columns - 62 : 18 + Math.floor((columns - 80) / 4);
  const stamp = createStamp(zone);
  let shownDay = '';
  let cut = false;
  /** `textOf` the time of day, below the day if that is a new one. */
  const at = (time: number, textOf: (clock: string) => string): string => {
    const [day, clock] = stamp(time).split('T') as [string, string];
    const text = textOf(clock.slice(0, timeWidth));
    if (day === shownDay) return text;
    shownDay = day;
    return `${output.bold(`${day} (UTC${clock.slice(timeWidth)})`)}\n${text}`;
  };
  const cell = (text: string, width: number): string => {
    const letters = [...text];
    if (letters.length <= width) return text + ' '.repeat(width - letters.length);
    cut = true;
    return `${letters.slice(0, width - 1).join('')}…`;
  };
  const row = (time: string, thread: string, status: string, seconds: string, call: string, user: string): string =>
    [
      time.padEnd(timeWidth),
      thread.padEnd(9),
      status.padEnd(4),
      seconds.padStart(7),
      cell(call, callWidth),
      cell(user, userWidth),
    ]
      .join('  ')
      .trimEnd();
  /** `text` beside `head`, or below it in as many lines as it needs. */
  const withText = (head: string, text: string): string => {
    if (text === '') return head;
    const whole = `${head}  ${text}`;
    return textWidth(whole) <= columns ? whole : `${head}\n${wrap(text, columns - indent.length, indent)}`;
  };
  return {
    callTitles: () => row('TIME', 'THREAD', 'HTTP', 'SECONDS', 'CALL', 'USER'),
    call: (call) =>
      at(callTime(call), (clock) => {
        const [status, seconds] = [String(call.status ?? '-'), call.seconds?.toFixed(3) ?? '-'];
        const user = call.user_email ?? call.user_id ?? '-';
        const head = row(clock, call.thread, status, seconds, `${call.method} ${call.path}`, user);
        return withText(head, resultText(call));
      }),
    put: (call) =>
      at(callTime(call), (clock) =>
        putText(call, clock)
          .split('\n')
          .map((text) => {
            if (textWidth(text) <= columns) return text;
            const ownIndent = text.length - text.trimStart().length; // of a step, none of the call
            return wrap(text.trim(), columns - stepIndent.length, stepIndent).slice(stepIndent.length - ownIndent);
          })
          .join('\n'),
      ),
    line: ({ time, source, thread, level }, who, text) =>
      at(time, (clock) => {
        const from = /^(server|pipeline)$/.test(source) ? thread : `${source} ${thread}`;
        const head = [clock, level.padEnd(7), from.padEnd(9)].join('  ');
        return withText(head, who === null ? text : `${who}  ${text}`);
      }),
    hasCut: () => cut,
  };
}

/** `text` in lines of at most `width`, each after `margin`; a word that is longer is divided. */
function wrap(text: string, width: number, margin: string): string {
  const pattern = new RegExp(`(?!\\s)(?:.{1,${width}}(?=\\s|$)|.{${width}})`, 'gu');
  return (text.match(pattern) ?? []).map((one) => margin + one).join('\n');
}
