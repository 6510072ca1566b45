// The public API of the core, for other programs: exports only.
export type { Segmented, SegmentedTrip, Segmenter, Stretch } from './analysis/segmenter.ts';
export { type Config, readConfig, settings } from './config.ts';
export { type DiaryStore, readTripsOfDay, readTripsOfDays } from './diary/build-trip-documents.ts';
export { type ChainStore, type CorrectedTrips, correctedTrips } from './diary/corrections/corrected-trips.ts';
export { everyStatus, readStatus } from './diary/status/all-statuses.ts';
export { breakages, type PersonState, type StepName, type Steps, type StepTime } from './diary/status/breakages.ts';
export { type BrokenStep, deriveStatus, type PersonStatus, type StatusOptions } from './diary/status/person-status.ts';
export type { TripFeatureCollection } from './diary/trip-features.ts';
export { toFlatGeoJson } from './export/trips-geojson.ts';
export {
  ConversionError,
  type ConversionReason,
  conversionReasons,
  convert,
  present,
} from './intake/converters/convert.ts';
export { type Pushed, type PutOptions, putBatch } from './intake/put-batch.ts';
export { type Level, type Log, silentLog } from './log/log.ts';
export type { PutCounts } from './log/messages.ts';
export {
  dataTime,
  type Entry,
  type Identity,
  identityOf,
  type Metadata,
} from './model/entry.ts';
export type { JsonObject, JsonValue } from './model/json.ts';
export { dayKey, type KeyRow, keys, keyTable } from './model/keys.ts';
export { type ErrorCode, errorCodes, isMobilityError, MobilityError } from './model/mobility-error.ts';
export {
  addDays,
  dayRange,
  formatTime,
  isDay,
  isTimeZone,
  type LocalDateTime,
  localDateTime,
  localDay,
  startOfDay,
  type TimeRange,
} from './model/time.ts';
export type { Place, Position, Section, Stop, Trip, TripRecord } from './model/trip.ts';
export type { TokenRecord, UserRecord } from './model/user.ts';
export { type AllOptions, type AllReport, runAll } from './pipeline/run-all.ts';
export { type PipelineOptions, runPipeline, type UserReport } from './pipeline/run-pipeline.ts';
export type { StageReport, TripChange } from './pipeline/stage.ts';
export { type DayOptions, type DayPlan, type PlannedLeg, type PlannedStay, planDay } from './simulate/plan-day.ts';
export { type SimulateOptions, simulateDay, simulateDays } from './simulate/simulate-day.ts';
export { type OpenOptions, openStore } from './store/open.ts';
export { everyEntry, everyError, everyLink, everyUser } from './store/paging.ts';
export * from './store/store.ts';
export { type PurgeReport, purgeKeys } from './upkeep/purge-documents.ts';
export { type RebuildReport, rebuild } from './upkeep/rebuild-user.ts';
export { type RecoverOptions, type RecoverReport, recoverErrors } from './upkeep/recover-user.ts';
