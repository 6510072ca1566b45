// Compares the confidence of modes with the share of the true time in motion that had the right mode.
import { modeClass } from '../../dist/model/modes.js';

/** Seconds by tenth of confidence: all, multiplied by the confidence, and with the right mode. */
export class Calibration {
  constructor() {
    this.rows = Array.from({ length: 10 }, () => ({ seconds: 0, weighted: 0, right: 0 }));
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
        row.weighted += seconds * confidence;
        if (wanted === mode || (wanted === 'scooter' && mode === 'bike')) row.right += seconds;
      }
  }

  /** Mean difference between confidence and the right share, weighted by time. */
  error() {
    const all = this.rows.reduce((sum, { seconds }) => sum + seconds, 0);
    return this.rows.reduce((sum, { weighted, right }) => sum + Math.abs(weighted - right), 0) / all;
  }

  /** Of the sections with a confidence of `least` or more: their share of the time, and the share of their time with a wrong mode. */
  wrongFrom(least) {
    const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);
    const high = this.rows.slice(Math.round(least * 10));
    const seconds = sum(high, 'seconds');
    return { share: seconds / sum(this.rows, 'seconds'), wrong: 1 - sum(high, 'right') / seconds };
  }

  text() {
    const rows = this.rows.flatMap(({ seconds, weighted, right }, i) =>
      seconds > 0
        ? [
            `.${i}: ${(seconds / 3600).toFixed(1)} h, confidence ${(weighted / seconds).toFixed(2)}, right ${(right / seconds).toFixed(2)}`,
          ]
        : [],
    );
    return `error ${this.error().toFixed(3)}; ${rows.join('; ')}`;
  }
}
