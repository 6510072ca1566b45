// Explains a trip to the person who made it, from the evidence that is stored with the trip.
//
//   start "movement", bus 0.91   ->   It begins where your phone began to move.
//                                     07:57 to 08:09: bus 91 %, train 6 %. On average 29 km/h.
import { plainMode } from '../../model/modes.ts';
import type { Section, Trip } from '../../model/trip.ts';
import { zoneWithin } from '../../model/trip-fields.ts';
import { ownValue, type Texts } from './texts/texts.ts';

const leastShown = 0.05; // a mode with a lower probability is not named

export function tripReasons(trip: Trip, t: Texts): string[] {
  const { evidence, sections, start_zone, corrected } = trip;
  const words = t.me.why;
  const texts: (string | undefined)[] = [corrected === true ? words.corrected : undefined];
  if (evidence !== undefined) {
    const { start, end, ended_by, parted_by, waits = [], left_out } = evidence;
    texts.push(ownValue(words.start, start), ownValue(words.end, end), ownValue(words.endedBy, ended_by));
    for (const { start_ts, end_ts, reason } of waits)
      texts.push(words.wait(t.clock(start_ts, start_zone), t.clock(end_ts, start_zone), ownValue(words.waits, reason)));
    texts.push(ownValue(words.parted, parted_by));
    const ignored = Object.values(left_out).reduce((sum, count) => sum + count, 0);
    if (ignored > 0) texts.push(words.ignored(ignored));
  }
  texts.push(...sections.map((section) => modeReason(section, zoneWithin(trip, section.start_ts), t)));
  return texts.filter((one) => one !== undefined);
}

function modeReason({ sensed_mode, source, ...section }: Section, zone: string, t: Texts): string {
  const { start_ts, end_ts, distance, duration, mode_confidence, mode_probabilities = {} } = section;
  const others = Object.entries(mode_probabilities)
    .filter(([name, p]) => plainMode(name) !== plainMode(sensed_mode) && p >= leastShown)
    .sort(([, a], [, b]) => b - a);
  const named = (mode: string, p?: number): string => `${t.me.mode(mode)}${p === undefined ? '' : ` ${t.share(p)}`}`;
  const listed = [named(sensed_mode, mode_confidence), ...others.map(([name, p]) => named(name, p))].join(', ');
  const chances = source === 'label' || source === 'correction' ? t.me.why.stated(listed) : listed;
  const speed = t.number(duration > 0 ? (3.6 * distance) / duration : 0);
  return t.me.why.mode(t.clock(start_ts, zone), t.clock(end_ts, zone), chances, speed);
}
