// Makes converters for transitions of the phone's state machine from the texts of a platform.
import { states as stateCodes, transitions as transitionCodes } from '../../model/payloads.ts';
import { type Converter, nameOrCode, timeOf, withTime } from './common.ts';

/** The texts of a platform for states and transitions, with their codes. */
export interface TransitionTexts {
  states: Record<string, number>;
  transitions: Record<string, number>;
}

/**
 * Makes a converter to payload `Transition`. The time is `write_ts`. The state is in `currState`, or in `curr_state`
 * after a "force sync" of the app. State and transition may be codes already.
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
