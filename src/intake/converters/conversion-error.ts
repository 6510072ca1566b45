// The error for an entry that cannot be converted, and the reasons that it can have.
import { MobilityError } from '../../model/mobility-error.ts';

/**
 * Reasons why an entry cannot be converted: code and explanation. Codes never change, since operators and recovery
 * select entries by them.
 */
export const conversionReasons = {
  no_converter: 'The key is known, but no phone of that platform pushes it.',
  missing_field: 'A required field is missing.',
  wrong_type: 'A field has another type than expected.',
  out_of_range: 'A number is outside of its allowed range, or a text is too long.',
  unknown_value: 'A code or name is unknown.',
  conflicting_flags: 'The phone reports two ways of moving at once.',
  bad_time: 'A time lies outside the years 1 to 9999.',
} as const;

export type ConversionReason = keyof typeof conversionReasons;

/**
 * Thrown for an entry that cannot be converted. The message names the field, what was expected and what was found; it
 * never contains a coordinate. The code is `MOBILITY_NO_CONVERTER` for the reason `no_converter`, otherwise
 * `MOBILITY_CONVERSION`.
 */
export class ConversionError extends MobilityError {
  readonly reason: ConversionReason;

  constructor(reason: ConversionReason, message: string, options?: { cause?: unknown }) {
    super(reason === 'no_converter' ? 'MOBILITY_NO_CONVERTER' : 'MOBILITY_CONVERSION', message, options);
    this.name = 'ConversionError';
    this.reason = reason;
  }
}
