// Wraps comment lines beyond 120 columns, which the formatter leaves alone: part of `npm run format`. `node
// tools/wrap-comments.js FILES…`
import { readFileSync, writeFileSync } from 'node:fs';

const width = 120;

/** `text` in lines that begin with `prefix`. */
function fill(text, prefix) {
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && prefix.length + line.length + 1 + word.length > width) {
      lines.push(prefix + line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, prefix + line];
}

/** Wraps the long comment lines of a source, from the first long line of a paragraph to its end. */
function wrapped(source) {
  const lines = source.split('\n');
  const out = [];
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i];
    const block = /^(\s*)\/\*\* (.*) \*\/$/.exec(line);
    const comment = /^(\s*(?:\/\/|\*) )(\s*)(\S.*)$/.exec(line);
    if (line.length <= width || (block === null && comment === null)) out.push(line);
    else if (block !== null) out.push(`${block[1]}/**`, ...fill(block[2], `${block[1]} * `), `${block[1]} */`);
    else {
      const [, start, indent, first] = comment;
      let text = first;
      for (; indent === '' && lines[i + 1]?.startsWith(start); i += 1) {
        const next = lines[i + 1].slice(start.length);
        if (/^(?:\s|@|[-*] |\d+\. |```|\||-{5,}|$)/.test(next)) break;
        text += ` ${next}`;
      }
      out.push(...fill(text, start + indent));
    }
  }
  return out.join('\n');
}

for (const file of process.argv.slice(2)) {
  const source = readFileSync(file, 'utf8');
  const text = wrapped(source);
  if (text !== source) writeFileSync(file, text);
}
