export function releasedChangelog(text: string, version: string, date: string): string;
export function releasedCitation(text: string, version: string, date: string): string;
export function isLater(next: string, last: string): boolean;
