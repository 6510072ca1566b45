// The version of the analysis with the models of the package: known without loading them.

/** Raised whenever the same entries and model would give other trips than before. */
const codeVersion = 15;

/** The models that come with the package. */
export const shippedNames = {
  full: 'states-2',
  sparse: 'states-sparse-2',
  joint: 'journeys-2',
  jointSparse: 'journeys-sparse-2',
} as const;

/** The version of the analysis with models of these names. */
export const versionWith = ({ full, sparse, joint, jointSparse }: Record<keyof typeof shippedNames, string>): string =>
  [codeVersion, full, sparse, joint, jointSparse].join(' ');

/** That of `shippedSegmenter`. */
export const shippedVersion = versionWith(shippedNames);
