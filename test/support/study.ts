// Records of a study and of a manager, with small limits, for tests that need one.
import type { ManagerRecord } from '../../src/model/manager.ts';
import type { StudySettings } from '../../src/model/study.ts';

/** The study `sunny`, or another one by the fields that differ. */
export function studySettings({ name = 'sunny', ...fields }: Partial<StudySettings> = {}): StudySettings {
  return {
    name,
    join_names: [name],
    subgroups: [],
    joining: 'open',
    open: true,
    hour_limit: 5,
    total_limit: 5,
    created_ts: 1,
    config: null,
    ...fields,
  };
}

/** The manager `mira` of the study `sunny`, or another one by the fields that differ. */
export function managerRecord(fields: Partial<ManagerRecord> = {}): ManagerRecord {
  const account = { name: 'mira', studies: ['sunny'], operator: false, password: 'x', created_ts: 1 };
  return { ...account, failures: 0, locked_ts: 0, sessions: [], ...fields };
}
