// The public names of the package. A name that goes or comes is a decision: change the list with it.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as core from '../src/index.ts';
import { words } from './support/words.ts';

it('the values that other programs can import are these', () => {
  expect(Object.keys(core).sort()).toEqual(
    words(`
    ConversionError MobilityError addDays breakages collections conversionReasons convert correctedTrips
    dataTime dayKey dayRange deriveStatus errorCodes everyEntry everyError everyLink everyStatus
    everyUser formatTime identityOf initialPipelineState isDay isMobilityError isTimeZone keyTable keys
    localDateTime localDay openStore planDay present purgeKeys putBatch readConfig readStatus
    readTripsOfDay readTripsOfDays rebuild recoverErrors runAll runPipeline settings silentLog
    simulateDay simulateDays startOfDay toFlatGeoJson
  `),
  );
});

it('the types are these, and all of the store', () => {
  const text = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8');
  expect(text).toContain("export * from './store/store.ts';");
  const types = [...text.matchAll(/\btype (\w+)|^export type \{([^}]*)\}/gm)].flatMap(([, one, many]) =>
    one !== undefined && one !== 'type' ? [one] : (many ?? '').split(',').map((name) => name.trim()),
  );
  expect(types.filter((name) => name !== '').sort()).toEqual(
    words(`
    AllOptions AllReport BrokenStep ChainStore Config ConversionReason CorrectedTrips DayOptions DayPlan
    DiaryStore Entry ErrorCode Identity JsonObject JsonValue KeyRow Level LocalDateTime Log Metadata
    OpenOptions PersonState PersonStatus PipelineOptions Place PlannedLeg PlannedStay Position
    PurgeReport Pushed PutCounts PutOptions RebuildReport RecoverOptions RecoverReport Section Segmented
    SegmentedTrip Segmenter SimulateOptions StageReport StatusOptions StepName StepTime Steps Stop Stretch
    TimeRange TokenRecord Trip TripChange TripFeatureCollection TripRecord UserRecord UserReport
  `),
  );
});
