import { MobilityError } from '../model/mobility-error.ts';

/** Pages show a text for each problem in the language of the reader, not the message. */
export type SourceProblem =
  | 'damaged' // the file is damaged or incomplete
  | 'format' // no reader knows the format
  | 'large'
  | 'packing' // an archive with a password, unusual compression or unusual names
  | 'people' // the source has several people, but one was expected
  | 'points' // records that cannot be read, such as points without time or place
  | 'empty' // no recorded points
  | 'zone' // times without a time zone
  | 'speeds' // speeds in another unit than expected
  | 'other'; // for example a failure of the program

export const readUpTo = 'everything before it was read. Repair the file and import it again';

/** The items that a reader yielded before the error are valid. */
export class SourceBroken extends MobilityError {
  readonly kind: SourceProblem;

  constructor(message: string, kind: SourceProblem = 'damaged', options?: { cause?: unknown }) {
    super('MOBILITY_SOURCE', message, options);
    this.name = 'SourceBroken';
    this.kind = kind;
  }
}

export function refuseBeyond(isBeyond: boolean, expected: string): void {
  if (isBeyond) throw new SourceBroken(`expected ${expected}, found more`, 'large');
}
