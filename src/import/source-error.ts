import { MobilityError } from '../model/mobility-error.ts';

/** The kinds of problems of sources, for texts in other languages than the messages. */
export type SourceProblem =
  | 'damaged' // or the file is incomplete
  | 'format' // no reader knows the format
  | 'large'
  | 'packing' // an archive with a password, unusual compression or unusual names
  | 'people' // the source has several people, but one was expected
  | 'points' // records that cannot be read, such as points without time or place
  | 'empty' // no recorded points
  | 'zone' // times without a time zone
  | 'speeds' // speeds in another unit than expected
  | 'other'; // for example a failure of the program

/** The end of a message about a file of which the beginning was read. */
export const readUpTo = 'everything before it was read. Repair the file and import it again';

/** Thrown by readers of sources. The items that a reader yielded before are valid. */
export class SourceBroken extends MobilityError {
  readonly kind: SourceProblem;

  constructor(message: string, kind: SourceProblem = 'damaged', options?: { cause?: unknown }) {
    super('MOBILITY_SOURCE', message, options);
    this.name = 'SourceBroken';
    this.kind = kind;
  }
}

/** Throws if a source exceeds a limit. `expected`: the limit, in words. */
export function refuseBeyond(isBeyond: boolean, expected: string): void {
  if (isBeyond) throw new SourceBroken(`expected ${expected}, found more`, 'large');
}
