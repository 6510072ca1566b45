import { clockText } from '../../../diary/number-text.ts';
import { localDay, startOfDay } from '../../../model/time.ts';

const noon = (day: string): number => startOfDay(day, 'UTC') + 43_200;

export const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
export const lower = (words: string): string => words.charAt(0).toLowerCase() + words.slice(1);

/** The forms of a noun by the categories of `Intl.PluralRules`: in English `one` and `other`. */
export type PluralForms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/**
 * `locale`: with a region that uses the 24-hour clock and metres. `underMinute`: the words for less
 * than a minute. `dayUnit`: the sign of days in a duration. `at`: between a weekday and a time.
 */
export function localeFormats(locale: string, underMinute: string, dayUnit: string, at: string) {
  const rules = new Intl.PluralRules(locale);
  const number = (value: number, digits = 0): string =>
    value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const formats = new Map<string, Intl.DateTimeFormat>();
  const date = (ts: number, zone: string, fields: Intl.DateTimeFormatOptions): string => {
    const key = `${zone} ${Object.keys(fields).join()} ${Object.values(fields).join()}`;
    const format = formats.get(key) ?? new Intl.DateTimeFormat(locale, { ...fields, timeZone: zone });
    formats.set(key, format);
    const text = format.format(ts * 1000);
    return locale === 'fr-FR' ? text.replace(/(?<!\S)1(?= \p{L})/u, '1er') : text;
  };
  const dayDate = (day: string, fields: Intl.DateTimeFormatOptions): string => date(noon(day), 'UTC', fields);
  const kilometres = (metres: number): string => number(metres / 1000, metres < 99_950 ? 1 : 0);
  const span = (seconds: number): string => {
    const minutes = Math.round(seconds / 60);
    const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
    if (seconds < 60) return underMinute;
    if (hours === 0) return `${minutes} min`;
    if (hours < 48) return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
    return `${number(Math.floor(hours / 24))} ${dayUnit} ${hours % 24} h`;
  };
  return {
    count: (value: number, forms: PluralForms): string =>
      `${number(value)} ${forms[rules.select(value)] ?? forms.other}`,
    plural: (value: number, forms: PluralForms): string => forms[rules.select(value)] ?? forms.other,
    list: (items: readonly string[]): string => new Intl.ListFormat(locale).format(items),
    texts: {
      number,
      length: (metres: number): string =>
        metres < 995 ? `${Math.round(metres / 10) * 10} m` : `${kilometres(metres)} km`,
      roundLength: (metres: number): string => (metres < 1000 ? `${metres} m` : `${number(metres / 1000)} km`),
      km: (metres: number): string => (metres < 50 ? '0' : kilometres(metres)),
      span,
      clock: clockText,
      zoneName: (ts: number, zone: string): string =>
        new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'long' })
          .formatToParts(ts * 1000)
          .find(({ type }) => type === 'timeZoneName')!.value,
      share: (part: number): string => `${Math.round(part * 100)} %`,
      day: (day: string): string => dayDate(day, { weekday: 'long', day: 'numeric', month: 'long' }),
      shortDay: (day: string): string => dayDate(day, { weekday: 'short', day: 'numeric', month: 'short' }),
      weekday: (day: string): string => dayDate(day, { weekday: 'short' }),
      month: (day: string): string => dayDate(day, { month: 'long', year: 'numeric' }),
      date: (ts: number, zone: string): string => date(ts, zone, { day: 'numeric', month: 'long', year: 'numeric' }),
      moment: (ts: number, zone: string): string =>
        `${date(ts, zone, { day: 'numeric', month: 'long' })}, ${clockText(ts, zone)}`,
      weekdayAndClock: (ts: number, zone: string): string =>
        `${date(ts, zone, { weekday: 'long' })}${at}${clockText(ts, zone)}`,
      /** Writes a time of today as 23:31, of the last 6 days as Mon 16:08, an older time as 19 Nov. */
      lately: (ts: number, now: number, zone: string): string => {
        if (localDay(ts, zone) === localDay(now, zone)) return clockText(ts, zone);
        if (now - ts < 6 * 86_400) return `${date(ts, zone, { weekday: 'short' })} ${clockText(ts, zone)}`;
        return date(ts, zone, { day: 'numeric', month: 'short' });
      },
    },
  };
}
