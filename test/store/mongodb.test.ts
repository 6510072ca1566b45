// The contract of the store on MongoDB.
import { testStore } from './contract.ts';
import { describeOnServers, openOn } from './servers.ts';

describeOnServers('MongoDB', (server) => testStore('store', () => openOn(server(), { retrySeconds: 30 })));
