// Lists every stage of a user's run, in order.
import { analyseTrips } from './analyse-trips.ts';
import { moveToLongTerm } from './move-to-long-term.ts';
import type { Stage } from './stage.ts';
import { writeDocuments } from './write-documents.ts';

export const stages: readonly Stage[] = [moveToLongTerm, analyseTrips, writeDocuments];
