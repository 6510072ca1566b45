// The contract of the store, on MongoDB.
import { vi } from 'vitest';
import { testStore } from './contract.ts';
import { describeOnServers, openOn } from './servers.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // the test server is no fast one

describeOnServers('MongoDB', (server) => testStore('store', () => openOn(server(), { retrySeconds: 30 })));
