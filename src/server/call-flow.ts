// Handles a call of a caller step by step: authentication, body, limits, route, answer.
import { constants } from 'node:buffer';
import type { Context } from 'hono';
import { line } from '../log/messages.ts';
import { tokenHash, tokenId } from '../model/user.ts';
import { jsonAnswer } from './answer.ts';
import { authenticator, headerTokens, type Server, tokenOf } from './auth.ts';
import { mebibyte, streamBytes } from './byte-budget.ts';
import type { ServerEnv } from './call.ts';
import { reportFailure } from './failed-calls.ts';
import { forbidden, problemOf } from './problem.ts';
import { largeLimits, listLimits, smallLimits } from './read-json.ts';
import { readRequest } from './read-request.ts';
import { handlerOf, phoneTokens, type Route, type RouteCall } from './routes/route.ts';
import { bodyCheck, objectOf } from './schemas.ts';

const fetchStep = 3600; // s in which a process records at most one fetch per user

export function answerCaller(route: Route, server: Server) {
  const { store, config, now, metrics, limiter } = server;
  const most = Math.min(config.bodyLimitMiB * mebibyte, constants.MAX_STRING_LENGTH);
  const isLarge = route.large === true || route.list !== undefined;
  const limit = isLarge ? most : Math.min(most, mebibyte);
  const json = route.list !== undefined ? listLimits : isLarge ? largeLimits : smallLimits;
  const { check: checkBody, isValid } = bodyCheck(route.body ?? objectOf({}));
  const { tokenField, tokenPlace, tokenParameters = [] } = route.dialect ?? phoneTokens;
  const takesAnything = route.dialect !== undefined;

  return async function answer(c: Context<ServerEnv>): Promise<Response> {
    const call = c.get('call');
    const params = c.req.param();
    const query = c.req.query();
    call.handler = handlerOf(route.path);
    call.log.write('INFO', line.called(call.handler.replace(/:(\w+)/, (_, name: string) => params[name] ?? '')));

    // 1. Authenticate the caller if a header or the query has a token.
    const sender = authenticator(server, route, call);
    const { bearer, basic } = headerTokens(c.req.header('Authorization'));
    const outsideBody = bearer ?? tokenParameters.map((name) => query[name]).find(Boolean) ?? null;
    if (outsideBody !== null) await sender.admit(outsideBody);
    else if (basic !== null) await sender.admitIfKnown(basic);

    // 2. Read the body within its limits. Authenticate the caller if the body has a token.
    const { body, list, size, note, unread } = await readRequest(c.req.raw, c.env?.incoming, {
      limit,
      json,
      tokenField,
      takesAnything,
      tokenParameters,
      share: call.share,
      ...(route.list !== undefined && { list: route.list }),
      isKnown: () => call.caller !== null,
      admit: async (token) => void (await sender.admit(token)),
    });
    if (note !== null) call.log.write('WARNING', note);

    // 3. Authenticate the caller if that is not done yet. Count the bytes.
    const { token: known, refusal } = sender;
    // In a body of any form, this field may mean something else: an accepted token takes precedence.
    const token = takesAnything && known !== null ? known : tokenOf(body, tokenField, known);
    if (token === null) {
      if (route.answerWithoutToken !== undefined && isValid(body))
        return jsonAnswer(call, route.answerWithoutToken(body));
      throw refusal ?? forbidden(`expected a token, ${tokenPlace}`);
    }
    const caller = await sender.admit(token);
    limiter.countBytes(caller, size);

    // 4. Run the route. Then release the bytes of the body, which a streamed answer does not need.
    checkBody(body);
    const { log } = call;
    const onStored = metrics?.figures.countEntries;
    const sentWith = config.auth === 'dev' ? null : tokenId(tokenHash(sender.token!));
    if (route.fetches) call.cleanups.push(await limiter.waitForSlot(caller.uuid));
    // A long answer counts as unsent bytes of the caller while the route makes it.
    const releaseBytes = route.fetches ? call.hold(streamBytes) : () => {};
    const put: RouteCall['put'] = (checked) => limiter.put(caller, checked, { log, sentWith, onStored });
    const result = await route.answer({ caller, body, unread, list, params, query, store, put, log, now });
    call.share.release();
    releaseBytes();
    // The call does not wait for the record of its fetch.
    if (route.fetches && limiter.mayRecord(caller.uuid, 'fetch', fetchStep))
      void store.profiles.merge(caller.uuid, { last_fetch_ts: now() }).catch(() => {});
    return jsonAnswer(call, result, (error) => reportFailure(problemOf(error), call, server));
  };
}
