// How sure the modes are said to be, and how often they are right, over the true time in motion.
import { modeClass } from '../../dist/model/modes.js';

/** Seconds by tenth of what was said: all, said times seconds, and right. */
export class Calibration {
  constructor() {
    this.rows = Array.from({ length: 10 }, () => ({ seconds: 0, said: 0, right: 0 }));
  }

  add(truth, trips) {
    const sections = trips.flatMap((trip) => trip.sections);
    for (const real of truth.trips.filter((trip) => trip.observable !== false).flatMap((trip) => trip.sections))
      for (const { start, end, mode, confidence } of sections) {
        const seconds = Math.min(real.end_ts, end) - Math.max(real.start_ts, start);
        const wanted = modeClass(real.mode);
        if (seconds <= 0 || wanted === 'still') continue;
        const row = this.rows[Math.min(9, Math.floor(confidence * 10))];
        row.seconds += seconds;
        row.said += seconds * confidence;
        if (wanted === mode || (wanted === 'scooter' && mode === 'bike')) row.right += seconds;
      }
  }

  /** Mean difference between said and right, weighted by time. */
  error() {
    const all = this.rows.reduce((sum, { seconds }) => sum + seconds, 0);
    return this.rows.reduce((sum, { said, right }) => sum + Math.abs(said - right), 0) / all;
  }

  /** Of what is said with `least` or more: its share of the time, and how much of it is wrong. */
  wrongFrom(least) {
    const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);
    const high = this.rows.slice(Math.round(least * 10));
    const seconds = sum(high, 'seconds');
    return { share: seconds / sum(this.rows, 'seconds'), wrong: 1 - sum(high, 'right') / seconds };
  }

  text() {
    const rows = this.rows.flatMap(({ seconds, said, right }, i) =>
      seconds > 0
        ? [
            `.${i}: ${(seconds / 3600).toFixed(1)} h, said ${(said / seconds).toFixed(2)}, right ${(right / seconds).toFixed(2)}`,
          ]
        : [],
    );
    return `error ${this.error().toFixed(3)}; ${rows.join('; ')}`;
  }
}
