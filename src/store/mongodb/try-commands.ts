import { MongoServerError } from 'mongodb';
import { errorText, MobilityError } from '../../model/mobility-error.ts';
import type { Connection } from './connect.ts';
import { inTransaction, retry } from './mongodb-transactions.ts';

/**
 * Tries each command that the store sends, so that a server that lacks one is refused before it
 * stores data. Throws `MOBILITY_UNSUPPORTED`.
 */
export async function tryCommands(connection: Connection): Promise<void> {
  const { db, client, address } = connection;
  const rows = db.collection<{ _id: string; count?: number }>('about');
  const one = { _id: 'try' };
  let tried = '';
  const sent = <T>(command: string, answer: Promise<T>): Promise<T> => {
    tried = command;
    return answer;
  };
  try {
    await inTransaction(connection, async (session) => {
      const within = { session };
      await sent('findAndModify', rows.findOneAndUpdate(one, { $inc: { count: 1 } }, { ...within, upsert: true }));
      await sent('update', rows.updateOne(one, { $set: { count: 2 } }, within));
      await sent('find', rows.find({ _id: { $in: ['try'] } }, within).toArray());
      const sums = [{ $match: one }, { $group: { _id: null, count: { $sum: '$count' } } }];
      await sent('aggregate', rows.aggregate(sums, within).toArray());
      await sent('delete', rows.deleteMany(one, within));
      tried = 'commitTransaction';
    });
    await retry(connection, () => sent('find', rows.findOne(one)));
    await retry(connection, () => sent('dbStats', client.db(db.databaseName).command({ dbStats: 1 })));
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    throw new MobilityError(
      'MOBILITY_UNSUPPORTED',
      `expected a server with every command of the store at ${address}, found that it refuses ${tried}: ${errorText(error)}; docs/storage-mongodb.md lists servers`,
      { cause: error },
    );
  }
}
