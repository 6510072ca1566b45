// Transitions of the phone's state machine: one converter, made for the texts of a platform.
import { states as stateCodes, transitions as transitionCodes } from '../../model/payloads.ts';
import { type Converter, nameOrCode, timeOf, withTime } from './common.ts';

/** What a platform calls states and transitions. */
export interface TransitionTexts {
  states: Record<string, number>;
  transitions: Record<string, number>;
}

/**
 * Makes the converter to payload `Transition`. The time is `write_ts`. The state is read from `currState` or from
 * `curr_state`, as the app's own "force sync" spells it; both may be codes already.
 */
export function transitionConverter(texts: TransitionTexts): Converter {
  const states = new Map(Object.entries(texts.states));
  const [knownStates, knownTransitions] = [Object.values(stateCodes), Object.values(transitionCodes)];
  const transitions = new Map(Object.entries(texts.transitions));
  return (entry) => {
    const { currState, curr_state: otherSpelling, transition } = entry.data;
    const state = nameOrCode(states, currState ?? otherSpelling, 'data.currState', knownStates);
    const code = transition === null ? null : nameOrCode(transitions, transition, 'data.transition', knownTransitions);
    const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
    return withTime(entry, ts, { curr_state: state, transition: code }, ['currState']);
  };
}
