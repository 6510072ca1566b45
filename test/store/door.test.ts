// The door of a store: which calls its close waits for.
import { expect, it } from 'vitest';
import { doorOf } from '../../src/store/door.ts';

/** A guarded method whose calls end when they are told to. */
function heldCalls() {
  const ends: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const door = doorOf('memory', (error) => new Error(`explained ${(error as Error).message}`));
  const { call } = door.guard({
    call: () => new Promise<string>((resolve, reject) => ends.push({ resolve, reject })),
  });
  return { door, call, ends };
}

const laterTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('every close ends once the last running call has ended, with a result or an error, and not before', async () => {
  const { door, call, ends } = heldCalls();
  const [good, bad] = [call(), call()];
  const failed = expect(bad).rejects.toThrow('explained lost');
  let ended = 0;
  const closes = [door.close(), door.close()].map((close) => close.then(() => ended++));
  ends[1]!.reject(new Error('lost'));
  await failed;
  await laterTurn();
  expect(ended).toBe(0);
  ends[0]!.resolve('done');
  await Promise.all([...closes, door.close()]);
  expect(await good).toBe('done');
});

it('a door without running calls closes at once, whatever ran before, and refuses later calls', async () => {
  const { door, call, ends } = heldCalls();
  const before = call();
  ends[0]!.resolve('done');
  await before;
  await door.close();
  await expect(call()).rejects.toMatchObject({ code: 'MOBILITY_STORE_CLOSED' });
  expect(ends).toHaveLength(1);
});
