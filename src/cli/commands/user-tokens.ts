import { Option } from '@commander-js/extra-typings';
import { clockText, minuteText } from '../../diary/number-text.ts';
import { appIds, phoneApps } from '../../model/apps.ts';
import { checkedToken, newToken } from '../../model/ids.ts';
import { errorText, isMobilityError, MobilityError, usageError } from '../../model/mobility-error.ts';
import { sourceNames } from '../../model/sources.ts';
import { day } from '../../model/time.ts';
import { refusalOf, type TokenKind, type TokenRecord, tokenHash, tokenId, useStep } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import { streamText } from '../../util/file-access.ts';
import { qrText } from '../../web/pages/qr.ts';
import { newSecret } from '../../web/sessions.ts';
import { DocumentedCommand, type OptionsOf, phoneAddress, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, listing, table, withZone } from '../output.ts';

const usualDays = 365; // days for which a token of a person or script is valid

export const tokenCommand = (context: CommandContext) => tokenFlags().action(context.run(createToken));

const tokenFlags = () =>
  new DocumentedCommand('token', 'create a token for a user and print it once')
    .examples(`
  mobility users token ada --expires 30
  mobility users token ada --replace --overlap 7
  mobility users token ada --app owntracks --server https://mobility.example.org --qr
  mobility users token ada --import - < token.txt`)
    .argument('<name>', 'name or UUID of the user')
    .option(
      '--expires <days>',
      `days until the token expires; default: ${usualDays}, never for --app and --import`,
      wholeNumber(1, 36_500),
    )
    .addOption(new Option('--never', 'the token does not expire').conflicts('expires'))
    .option('--replace', 'revoke all other tokens of the user, and with them unopened links and browser sessions')
    .option('--overlap <days>', 'with --replace: keep the other tokens valid for this many days', wholeNumber(1, 365))
    .option('--import <token>', 'register a token that was made elsewhere; - reads it from standard input')
    .addOption(
      new Option('--app <name>', 'make a token for another app, and show how to set the app up')
        .choices(appIds)
        .conflicts('import'),
    )
    .option('--server <url>', 'address of the server for phones; default: MOBILITY_PUBLIC_URL')
    .option('--qr', 'also print a QR code: of the token, or with --app of the link');

async function createToken(context: CommandContext, name: string, options: OptionsOf<typeof tokenFlags>) {
  const { app, replace, overlap, never, expires } = options;
  const user = await context.findUser(name);
  const address = app && phoneAddress(options.server, context.config().publicUrl);
  if (overlap !== undefined && !replace) throw usageError('expected --replace with --overlap, found --overlap alone');
  const { tokens } = await context.store();
  // Other accounts can see arguments of processes, but not standard input.
  const given = options.import === '-' ? (await streamText(context.stdin)).replace(/\r?\n$/, '') : options.import;
  const token = given === undefined ? newToken() : checkedToken(given);
  const hash = tokenHash(token);
  const kind: TokenKind = app ?? (options.import === undefined ? 'made' : 'imported');
  const owner = (await tokens.byHash(hash))?.user_id ?? user.uuid;
  if (owner !== user.uuid) throw usageError('expected a token of this user, found one that belongs to another account');
  const created_ts = context.now();
  const before = replace ? await tokens.list(user.uuid) : [];
  const others = before.filter((other) => other.hash !== hash && refusalOf(other, created_ts) === null);
  const days = never ? undefined : (expires ?? (kind === 'made' ? usualDays : undefined));
  const expires_ts = days === undefined ? null : created_ts + days * day;
  await tokens.add({ hash, user_id: user.uuid, created_ts, expires_ts, kind });
  const setup = app && phoneApps[app].setUp(address!, user.user_email, token);
  const { user_email, uuid } = user;
  const result = { user_email, uuid, id: tokenId(hash), token, kind, expires_ts, replaced: others.length, ...setup };
  const shown = setup === undefined ? token : `${table(Object.entries(setup.settings))}\n\n${setup.link}`;
  const text = `${shown}${options.qr ? `\n${context.output.code(qrText(setup?.link ?? token))}` : ''}`;
  const show = (): Promise<void> => context.output.result(result, text);
  await (options.import === undefined ? showTokens(context, [{ uuid, token }], show) : show());
  for (const other of others) {
    if (overlap === undefined) await tokens.revoke(other.user_id, other.hash, { ts: created_ts, why: 'replaced' });
    else await tokens.add({ ...other, expires_ts: Math.min(other.expires_ts ?? Infinity, created_ts + overlap * day) });
  }
  const until =
    expires_ts === null ? 'without expiry' : `until ${minuteText(expires_ts, context.zone)} ${context.zone}`;
  const still = overlap === undefined ? 'replaced' : `valid for another ${counted(overlap, 'day')}`;
  const rest = others.length === 0 ? '' : `, ${counted(others.length, 'token')} ${still}`;
  context.output.note(`token of ${user_email}, ${until}${rest}; it cannot be shown again`);
}

type Made = readonly { uuid: string; token: string }[];

/** If `show` cannot print the new tokens, revokes them and throws `MOBILITY_OUTPUT`. */
export async function showTokens(context: CommandContext, made: Made, show: () => Promise<void>): Promise<void> {
  await show().catch(async (error) => {
    const { tokens } = await context.store();
    const revocation = { ts: context.now(), why: 'revoked' } as const;
    for (const { uuid, token } of made) await tokens.revoke(uuid, tokenHash(token), revocation);
    const next = `${counted(made.length, 'token')} revoked, since they were not shown: repeat the command`;
    throw new MobilityError('MOBILITY_OUTPUT', `${errorText(error)}; ${next}`, { cause: error });
  });
}

/** Makes a link that opens the pages of a user once. */
export async function newPageLink(context: CommandContext, userId: string, address: string, expires_ts: number) {
  const key = newSecret();
  const token = { hash: tokenHash(key), user_id: userId, created_ts: context.now(), expires_ts };
  await (await context.store()).tokens.add({ ...token, kind: 'link' });
  return `${address}/me/open?key=${key}`;
}

export const userLinkCommand = (context: CommandContext) => linkFlags().action(context.run(createLink));

const linkFlags = () =>
  new DocumentedCommand('link', 'create a link that opens the days of a user in a browser, once')
    .examples('  mobility users link ada --server https://mobility.example.org --qr')
    .argument('<name>', 'name or UUID of the user')
    .option('--days <n>', 'days until the link expires', wholeNumber(1, 365), 7)
    .option('--server <url>', 'address of the server for phones; default: MOBILITY_PUBLIC_URL')
    .option('--qr', 'also print the link as a QR code');

async function createLink(context: CommandContext, name: string, options: OptionsOf<typeof linkFlags>): Promise<void> {
  const { output, zone } = context;
  const { user_email, uuid } = await context.findUser(name);
  const address = phoneAddress(options.server, context.config().publicUrl);
  const expires_ts = context.now() + options.days * day;
  const link = await newPageLink(context, uuid, address, expires_ts);
  const text = options.qr ? `${link}\n${output.code(qrText(link))}` : link;
  await output.result({ user_email, uuid, link, expires_ts }, text);
  output.note(`works once, until ${minuteText(expires_ts, zone)} ${zone}; \`mobility users tokens ${name}\` lists it`);
}

export const tokensCommand = (context: CommandContext) =>
  new DocumentedCommand('tokens', "list a user's tokens, also revoked ones, with kind, expiry and last use")
    .argument('<name>', 'name or UUID of the user')
    .action(context.run(listTokens));

async function listTokens(context: CommandContext, name: string): Promise<void> {
  const { output, zone } = context;
  const user = await context.findUser(name);
  const store = await context.store();
  const found = await store.tokens.list(user.uuid);
  const sources = await sourcesOf(store, user.uuid);
  const tokens = found.map(({ hash, user_id: _, ...token }) => {
    const id = tokenId(hash);
    return { id, ...token, entries_of: sources.get(id) ?? null };
  });
  await output.result({ tokens }, () => withZone(tokensText(found, sources, context), zone));
  output.note(`${counted(found.length, 'token')} of ${user.user_email}`);
}

/** Returns, for each token id, the source of the last entry among the newest 2,000 entries. */
async function sourcesOf({ timeseries, usercache }: Store, userId: string): Promise<Map<string, string>> {
  const newest = { time: 'write_ts', descending: true, limit: 2000 } as const;
  const read = Promise.all([timeseries.find(userId, newest), usercache.find(userId, newest)]);
  const pages = await read.catch((error: unknown) => {
    if (isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) return []; // tokens are listed without sources
    throw error;
  });
  const oldestFirst = pages.flatMap(({ entries }) => entries.toReversed());
  return new Map(oldestFirst.map((entry) => [entry.metadata.token_id ?? '', sourceNames(entry).at(-1)!]));
}

type Sources = ReadonlyMap<string, string>;

function tokensText(tokens: readonly TokenRecord[], sources: Sources, { now, zone }: CommandContext): string {
  const until = (token: TokenRecord): string => {
    const refusal = refusalOf(token, now());
    if (refusal !== null) return `${refusal.why} ${minuteText(refusal.since, zone)}`;
    return token.expires_ts === null ? 'never' : minuteText(token.expires_ts, zone);
  };
  // The store has only the hour in which a token was last used.
  const hour = (ts: number): string => `${minuteText(ts, zone)} to ${clockText(ts + useStep, zone)}`;
  const usedOnce = ({ revoked_why, revoked_ts = 0 }: TokenRecord): string =>
    revoked_why === 'used' ? minuteText(revoked_ts, zone) : 'never';
  const rows = tokens.map((token) => [
    tokenId(token.hash),
    token.kind ?? 'made',
    minuteText(token.created_ts, zone),
    until(token),
    token.used_ts === undefined ? usedOnce(token) : hour(token.used_ts),
    sources.get(tokenId(token.hash)) ?? '-',
  ]);
  return listing(['ID', 'KIND', 'MADE', 'EXPIRES', 'LAST USED', 'ENTRIES OF'], rows);
}

export const revokeCommand = (context: CommandContext) =>
  new DocumentedCommand('revoke', 'revoke one token')
    .argument('<name>', 'name or UUID of the user')
    .argument('<id>', 'id of the token, from `mobility users tokens`')
    .action(context.run(revokeToken));

async function revokeToken(context: CommandContext, name: string, id: string): Promise<void> {
  const { output, zone } = context;
  const user = await context.findUser(name);
  const { tokens } = await context.store();
  const all = await tokens.list(user.uuid);
  const found = all.filter(({ hash }) => id.length >= 4 && hash.startsWith(id.toLowerCase()));
  const good = found.filter(({ revoked_ts }) => revoked_ts === undefined);
  const [token, ...others] = good.length > 0 ? good : found;
  if (token === undefined || others.length > 0) {
    const see = `see \`mobility users tokens ${name}\``;
    throw usageError(`expected the id of one token of ${user.user_email}, found ${id}: ${see}`);
  }
  const { revoked_ts, revoked_why = 'revoked' } = token;
  const before = revoked_ts && `already ${revoked_why} at ${minuteText(revoked_ts, zone)} ${zone}`;
  if (!before) await tokens.revoke(user.uuid, token.hash, { ts: context.now(), why: 'revoked' });
  const shown = tokenId(token.hash);
  await output.result({ id: shown, revoked: true }, shown);
  output.note(before || 'revoked');
}
