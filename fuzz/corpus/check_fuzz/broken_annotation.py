import  tod():
c.cuda()