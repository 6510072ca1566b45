import { initialPipelineState } from '../model/pipeline-state.ts';
import type { UserRecord } from '../model/user.ts';
import type { PersonFigures } from './store.ts';

export const emptyFigures = (user: UserRecord): PersonFigures => ({
  user,
  registered_ts: user.update_ts,
  audit_key: '',
  stage: 'erasing',
  profile: {},
  tokens: [],
  lease: null,
  state: initialPipelineState,
  waiting: { count: 0, ahead: 0, next_due_ts: null },
  set_aside: [],
});
