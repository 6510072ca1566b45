// The form of a JSON value as bytes: what writing and reading it agree on.

/** What follows: a value's first byte. A later form adds tags and changes none. */
export const tags = {
  null: 0,
  false: 1,
  true: 2,
  /** Characters of one byte each, behind their number. */
  text: 3,
  /** JSON text of a text with other characters, behind its length in bytes. */
  quoted: 4,
  /** The number of a text that came before. */
  again: 5,
  /** 24 hexadecimal digits in 12 bytes. */
  id: 6,
  /** Eight bytes. */
  double: 7,
  /**
   * The number of a list of names, then the values. After a number not given yet comes the list: the number of names,
   * and of each the number of a known text and one, or zero and a text.
   */
  object: 8,
  /** The number of values, then these. */
  list: 9,
  /** The number of numbers, then these as whole numbers, see `ListForm`. */
  numbers: 10,
  /** The number of pairs of numbers, then the first of each, then the second of each. */
  pairs: 11,
  /** From here on, by decimals: a whole number. */
  whole: 16,
  /** From here on, by decimals: the difference to the number before it under the same name, with as many decimals. */
  difference: 32,
} as const;

/** Numbers with more decimals than these lie as doubles. */
export const mostDecimals = 7;

/** Whole numbers up to here stay exact in differences of differences. */
export const mostWhole = Number.MAX_SAFE_INTEGER / 8;

/**
 * How the numbers of a list lie: the decimals, or `doubles`; and above them how often differences were taken: numbers,
 * their differences, or the differences of these.
 */
export const listForm = { doubles: 15, orderAt: 16 } as const;

/**
 * Texts that every value knows: what trips and day documents are made of. Part of the form: a later one may only add
 * some behind them, under a new number of the form.
 */
export const knownTexts: readonly string[] = [
  ...['id', 'chain_ts', 'settled_ts', 'day', 'kind', 'start_ts', 'end_ts', 'trip', 'untracked', 'carry', 'dropped'],
  ...['raw_trip', 'source', 'start_zone', 'end_zone', 'zone_guessed', 'start_loc', 'end_loc', 'distance', 'sections'],
  ...['stops', 'duration', 'evidence', 'start_place', 'end_place', 'sensed_mode', 'mode_confidence'],
  ...['mode_probabilities', 'coordinates', 'altitudes', 'times', 'speeds', 'distances', 'enter_ts', 'exit_ts'],
  ...['enter_loc', 'exit_loc', 'ending_section', 'starting_section', 'location', 'raw_places', 'enter_zone'],
  ...['ending_trip', 'resume_ts', 'started', 'needs_from', 'raw_place', 'place', 'away_since', 'model', 'start', 'end'],
  ...['ended_by', 'parted_by', 'waits', 'reason', 'phantom', 'left_out', 'repeats', 'spikes', 'WALKING', 'BICYCLING'],
  ...['CAR', 'BUS', 'TRAIN', 'UNKNOWN', 'type', 'properties', 'features', 'geometry', 'feature_type', 'trip_id'],
  ...['timestamps', 'start_local_dt', 'end_local_dt', 'start_fmt_time', 'end_fmt_time', 'enter_local_dt'],
  ...['enter_fmt_time', 'exit_local_dt', 'exit_fmt_time', 'year', 'month', 'hour', 'minute', 'second', 'weekday'],
  ...['timezone', 'starting_trip', 'start_stop', 'end_stop', '$oid', 'Feature', 'FeatureCollection', 'Point'],
  ...['LineString', 'section', 'stop', 'StateSequence'],
];
