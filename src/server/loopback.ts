// Which addresses only this machine reaches.

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|::1|127(?:\.\d{1,3}){3})$/i.test(host);
}
