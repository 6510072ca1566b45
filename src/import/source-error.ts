// The error of a source that cannot be read to its end.
import { MobilityError } from '../model/mobility-error.ts';

/** Thrown by readers: what they gave before it was thrown is good. The message says what was expected and where. */
export class SourceBroken extends MobilityError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('MOBILITY_SOURCE', message, options);
    this.name = 'SourceBroken';
  }
}
