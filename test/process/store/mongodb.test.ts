// The contract of the store on MongoDB.
import { testStore } from '../../store/contract.ts';
import { describeOnServers, openOn } from '../../store/servers.ts';

describeOnServers('MongoDB', (server) => testStore('store', () => openOn(server(), { retrySeconds: 30 }), 4));
