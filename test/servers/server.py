# Runs the test server of the MongoDB backend; its arguments are those of `secantusd-py`. Ends when its standard input
# is closed, so that it never outlives the process that started it. Corrects what it does otherwise than MongoDB and what
# would let a test hang, for the version that requirements.txt names:
#
# - A statement that waits for a row keeps the mutex of its transaction. The registry of transactions waited for these
#   mutexes while it held its own lock, without which nothing can be committed: a delete of many rows that waited for
#   one transaction, and a second transaction that waited for the delete, stopped the server for good.
# - Transactions that nobody goes on with were ended only when another transaction was asked for. MongoDB ends them by
#   itself.
# - `serverStatus` says how many transactions are open, as that of MongoDB does.
# - `$currentOp` lists open transactions that are idle, as that of MongoDB does.
import contextlib
import os
import sys
import threading
import time

from secantus import aggregate, commands
from secantus.cli import main
from secantus.transactions import TransactionRegistry, TxnState

original_init = TransactionRegistry.__init__
original_for_statement = TransactionRegistry.for_statement
original_on_retryable_write = TransactionRegistry.on_retryable_write
registries = []


def init(self, **options):
    original_init(self, **options)
    registries.append(self)

    def prune():
        while True:
            time.sleep(1)
            with contextlib.suppress(Exception):
                self.prune_expired()

    threading.Thread(target=prune, daemon=True).start()


def prune_locked(self):
    """Ends idle transactions. One whose mutex is taken is not idle."""
    cutoff = self._time() - self._lifetime
    ended = 0
    for txn in self._txns.values():
        if txn.state is not TxnState.IN_PROGRESS or txn.last_use >= cutoff or not txn.mutex.acquire(blocking=False):
            continue
        try:
            if txn.state is TxnState.IN_PROGRESS and txn.last_use < cutoff:
                self._rollback_quietly(txn)
                txn.state = TxnState.ABORTED
                ended += 1
        finally:
            txn.mutex.release()
    return ended


def abort_for_session(self, lsid, below=float("inf")):
    """Waits for the mutex of a transaction, and for nothing else meanwhile."""
    txn = self._txns.get(lsid)
    if txn is not None and txn.txn_number < below:
        self.abort_in_progress(txn)


def abort_all(self):
    for lsid in list(self._txns):
        abort_for_session(self, lsid)


def for_statement(self, lsid, lsid_doc, number, *, start):
    if start:
        abort_for_session(self, lsid, below=number)
    return original_for_statement(self, lsid, lsid_doc, number, start=start)


def on_retryable_write(self, lsid, number):
    abort_for_session(self, lsid, below=number)
    return original_on_retryable_write(self, lsid, number)


TransactionRegistry.__init__ = init
TransactionRegistry._prune_locked = prune_locked
TransactionRegistry.abort_for_session = abort_for_session
TransactionRegistry.abort_all = abort_all
TransactionRegistry.for_statement = for_statement
TransactionRegistry.on_retryable_write = on_retryable_write

handlers = commands._HANDLERS
original_status = handlers["serverStatus"]
handlers["serverStatus"] = lambda doc, context: {
    **original_status(doc, context),
    "transactions": {"currentOpen": len(context.transactions)},
}
original_current_op = aggregate._STAGES["$currentOp"]


def idle_sessions(registry):
    """The open transactions, each as MongoDB reports the session of one that runs no statement."""
    for txn in list(registry._txns.values()):
        if txn.state is TxnState.IN_PROGRESS:
            idle = {"timeInactiveMicros": int((registry._time() - txn.last_use) * 1e6)}
            yield {"type": "idleSession", "appName": "mobility", "lsid": txn.lsid_doc, "transaction": idle}


def current_op(*args):
    return [*original_current_op(*args), *(one for registry in registries for one in idle_sessions(registry))]


aggregate._STAGES["$currentOp"] = current_op

threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
sys.exit(main())
