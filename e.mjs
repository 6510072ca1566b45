import {DatabaseSync} from '@photostructure/sqlite';import {execSync} from 'node:child_process';
const f=process.argv[2];const db=new DatabaseSync(f);
const sql='SELECT kind,chain_ts,record FROM trips WHERE user = ? AND chain_ts >= ? AND chain_ts < ? ORDER BY chain_ts LIMIT ?';
console.log(db.prepare('EXPLAIN QUERY PLAN '+sql).all(1,-1e308,1e308,500));
const st=db.prepare(sql);
for(const u of [1,5,9999]){const t=process.hrtime.bigint();for(let i=0;i<1000;i++)st.all(u,-1e308,1e308,500);console.log(u,Number(process.hrtime.bigint()-t)/1e9,'ms each');}
