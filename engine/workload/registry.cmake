# Every workload the engine can run: a new one is its header and a line here.
#   heddle_workload(<header in engine/workload/> <class template over the machine>)
heddle_workload(tpcc.h Tpcc)
heddle_workload(ycsb.h Ycsb)
heddle_workload(micro.h Micro)
heddle_workload(generic.h Generic)
heddle_workload(replay.h Replay)
heddle_workload(shop.h Shop)
