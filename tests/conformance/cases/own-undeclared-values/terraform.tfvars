zz = 1
yy = 2
aa = 1
bb = 2
