// A set whose members come and go all the time.

/**
 * Unlike those of a `Set`, members that left are free to be collected as garbage. V8 gives a `Set` or `Map` a new table
 * after a few additions and deletions, and the old table refers to the new one: once an old table is in the old
 * generation, all that the later tables held stays in memory until the next full collection.
 */
export class LiveSet<T> implements Iterable<T> {
  readonly #seats: { member: T; place: number }[] = [];

  get size(): number {
    return this.#seats.length;
  }

  /** Returns the function that takes the member out; more than one call of it does nothing. */
  add(member: T): () => void {
    const seats = this.#seats;
    const seat = { member, place: seats.length };
    seats.push(seat);
    return () => {
      if (seats[seat.place] !== seat) return;
      const last = seats.pop()!;
      if (last === seat) return;
      seats[seat.place] = last;
      last.place = seat.place;
    };
  }

  /** The members that are there now, in no order; members may leave meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.#seats.map(({ member }) => member)[Symbol.iterator]();
  }
}
