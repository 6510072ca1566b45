// Small drawings beside words, 20 by 20: one for each mode, and some for buttons.
import type { LookName } from '../../model/modes.ts';
import { Markup } from './markup.ts';

const person = '<circle class="f" cx="11" cy="3.4" r="1.9"/>';
const wheels = '<circle class="f" cx="6.6" cy="12.4" r="1.1"/><circle class="f" cx="13.4" cy="12.4" r="1.1"/>';
const drawings = {
  walking: `${person}<path d="M10.6 7.4 9 12l3 2.4.8 4M9 12l-.8 2.8L5.6 18M10.6 7.4l1.6 2.8 3 .8M10.6 7.4 7.4 8.6 6.2 11.4"/>`,
  bicycling:
    '<circle cx="5" cy="13" r="3.2"/><circle cx="15" cy="13" r="3.2"/><path d="m5 13 3-6h5l2 6M8 7l3 6H5M12 4.5h2"/>',
  bus: `<rect x="3.4" y="2.8" width="13.2" height="12.4" rx="2"/><path d="M3.4 9.6h13.2M6 15.4v2M14 15.4v2"/>${wheels}`,
  car: `<path d="M3 14.5v-4l2-5h10l2 5v4zM3.4 10h13.2M5 14.8v2M15 14.8v2"/>${wheels}`,
  train: `<rect x="4.4" y="2.6" width="11.2" height="12" rx="3"/><path d="M4.4 9h11.2M7 15l-2 2.6M13 15l2 2.6"/>${wheels}`,
  vehicle:
    '<path d="M2.6 14V7h9v7zM11.6 9h3.4l2.4 2.6V14h-5.8z"/><circle cx="6" cy="14.6" r="1.7"/><circle cx="14.4" cy="14.6" r="1.7"/>',
  other: '<path d="M3.5 10h13M12 5.5l4.5 4.5-4.5 4.5"/>',
  waiting: '<circle cx="10" cy="10" r="6.6"/><path d="M10 6.2V10l2.4 1.8"/>',
  yes: '<path d="m4 10.5 4 4 8-9"/>',
  no: '<path d="m5 5 10 10M15 5 5 15"/>',
} satisfies Record<LookName | 'waiting' | 'yes' | 'no', string>;

export const icon = (name: string): Markup =>
  new Markup(
    `<svg class="ic ${name}" viewBox="0 0 20 20" aria-hidden="true">${drawings[name as keyof typeof drawings] ?? drawings.other}</svg>`,
  );
