// How far the analysis looks beyond the trips that it decides on: one number for reading, settling and decoding.

/**
 * s before the first and after the last location of an outing. Within this a candidate may still be joined to the next
 * one, and what the phone sent in it says where the outing begins and ends (by hand: longer than the longest wait of a
 * journey).
 */
export const lookAround = 2700;
