ww = 3
vv = 4
