import { vi } from 'vitest';
import { testStore } from '../store/contract.ts';
import { describeOnServers, openOn } from './servers.ts';
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
describeOnServers('MongoDB', (server) => testStore('store', () => openOn(server(), { retrySeconds: 30 })));
