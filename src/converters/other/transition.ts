// Transitions of imported recordings: the codes of `states` and `transitions`.
import { transitionConverter } from '../generic/transition.ts';

/** Payload `Transition`. */
export const convertOtherTransition = transitionConverter({ states: {}, transitions: {} });
