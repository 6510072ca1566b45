// The windows of time in which the use by callers is counted.

/** Length of each window, s. */
export const useWindows = { minute: 60, day: 86_400 } as const;

/** A window of time in which the use by callers is counted. */
export type UseWindow = keyof typeof useWindows;
