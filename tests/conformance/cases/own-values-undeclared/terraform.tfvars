zz = 1
yy = 2
