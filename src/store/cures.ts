// What helps against each kind of damage, as a check and an error tell it. Commands are told whole: as they stand, they
// run.

/** No command mends it. */
export const restoreFolder = 'keep the folder as it is and restore a backup beside it';

/** No command mends it, but what can be read can be had. */
export const restoreOrCopy = `${restoreFolder}; \`mobility migrate --to NEW\` copies every user who can be read`;

/** Of a label that is gone while all files are there. */
export const initStore = 'mobility store init';

/** In MongoDB. */
export const restoreDatabase = 'restore a backup of the database';

/** Of indexes that do not fit their tables. */
export const rewriteIndexes = restoreFolder;

/** Of rows whose owner is not registered. */
export const purgeRows = 'mobility store purge-unowned';

/** Of an erasure that was interrupted. */
export const eraseAgain = (userId: string): string => `mobility erase --user ${userId}`;

/** Of rows that derive from entries. */
export const rebuildUser = (userId: string): string => `mobility rebuild --user ${userId}`;

/** Of all other rows of a user. */
export const mendRows = (_userId: string): string => restoreFolder;
