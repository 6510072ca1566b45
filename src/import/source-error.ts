import { MobilityError } from '../model/mobility-error.ts';

/** Thrown by readers. What they yielded before is valid. The message says what was expected and where. */
export class SourceBroken extends MobilityError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('MOBILITY_SOURCE', message, options);
    this.name = 'SourceBroken';
  }
}
