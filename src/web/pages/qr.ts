import { generate } from 'lean-qr';
import { toSvgSource } from 'lean-qr/extras/svg';

const border = 4; // modules; scanners need this border around a code

/** Draws a QR code in lines of half blocks. The border helps scanners on dark and light terminals. */
export function qrText(text: string): string {
  const code = generate(text);
  const isLight = (x: number, y: number): boolean => !code.get(x, y);
  const lines: string[] = [];
  for (let y = -border; y < code.size + border; y += 2) {
    let line = '';
    for (let x = -border; x < code.size + border; x += 1) {
      const [upper, lower] = [isLight(x, y), y + 1 >= code.size + border || isLight(x, y + 1)];
      line += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' ';
    }
    lines.push(line);
  }
  return lines.join('\n');
}

export function qrSvg(text: string): string {
  return toSvgSource(generate(text), { on: 'black', off: 'white', pad: border, width: null, height: null });
}
